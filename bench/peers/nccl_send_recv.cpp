// SPDX-License-Identifier: BSD-3-Clause
// The latency test of sluice-bench with NCCL's send and receive in place of MPI's: two processes with a device each,
// every call followed by a wait for its stream, as a blocking MPI call must. Half the round trip, us.
//
//   nccl_send_recv --library libnccl.so.2 --sizes 8,4096 -i 100 -x 10 --json FILE
//
// The library is loaded by name, so that the one of a Python package serves. Starts its second process itself.
#include <cuda_runtime.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "nccl_library.hpp"

namespace {

using peers::check;
using peers::fail;
using peers::load;
using peers::my_rank;
using peers::nccl;

constexpr int kPattern = 0x40;
struct Arguments {
  std::string library = "libnccl.so.2";
  std::vector<std::size_t> sizes;
  int iterations = 100;
  int warmup = 10;
  std::string json;
};

Arguments parse(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--library") {
      arguments.library = argv[i + 1];
    } else if (option == "--sizes") {
      for (const char *word = argv[i + 1]; word != nullptr && *word != '\0';) {
        arguments.sizes.push_back(std::strtoull(word, nullptr, 10));
        word = std::strchr(word, ',');
        if (word != nullptr) ++word;
      }
    } else if (option == "-i") {
      arguments.iterations = std::atoi(argv[i + 1]);
    } else if (option == "-x") {
      arguments.warmup = std::atoi(argv[i + 1]);
    } else if (option == "--json") {
      arguments.json = argv[i + 1];
    } else {
      fail("unknown option " + option);
    }
  }
  if (arguments.sizes.empty() || arguments.iterations < 1) fail("--sizes and -i are needed");
  return arguments;
}

struct Rank {
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  char *outgoing = nullptr;
  char *incoming = nullptr;

  void send(std::size_t size) {
    check(nccl.send(outgoing, size, ncclChar, 1 - my_rank, communicator, stream), "ncclSend");
    check(cudaStreamSynchronize(stream), "synchronisation");
  }
  void receive(std::size_t size) {
    check(nccl.recv(incoming, size, ncclChar, 1 - my_rank, communicator, stream), "ncclRecv");
    check(cudaStreamSynchronize(stream), "synchronisation");
  }
  void round_trip(std::size_t size) {
    if (my_rank == 0) {
      send(size);
      receive(size);
    } else {
      receive(size);
      send(size);
    }
  }
};

Rank start_rank(const ncclUniqueId &id, std::size_t largest) {
  Rank rank;
  check(cudaSetDevice(my_rank), "choice of device");
  check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking), "stream");
  check(cudaMalloc(&rank.outgoing, largest), "device memory");
  check(cudaMalloc(&rank.incoming, largest), "device memory");
  check(nccl.comm_init_rank(&rank.communicator, 2, id, my_rank), "ncclCommInitRank");
  check(cudaMemset(rank.outgoing, kPattern + my_rank, largest), "filling");
  return rank;
}

// Half the round trip, us: the median.
double half_round_trip_us(Rank &rank, std::size_t size, const Arguments &arguments) {
  using Clock = std::chrono::steady_clock;
  check(cudaMemset(rank.incoming, 0, size), "clearing");
  check(cudaDeviceSynchronize(), "synchronisation");
  std::vector<double> samples;
  for (int i = -arguments.warmup; i < arguments.iterations; ++i) {
    const auto begin = Clock::now();
    rank.round_trip(size);
    const std::chrono::duration<double, std::micro> taken = Clock::now() - begin;
    if (i >= 0) samples.push_back(taken.count() / 2);
  }
  char last = 0;
  check(cudaMemcpy(&last, rank.incoming + size - 1, 1, cudaMemcpyDeviceToHost), "reading back");
  if (last != kPattern + 1 - my_rank) fail("size " + std::to_string(size) + ": the last byte did not arrive");
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

std::string measure(const ncclUniqueId &id, const Arguments &arguments) {
  Rank rank = start_rank(id, *std::max_element(arguments.sizes.begin(), arguments.sizes.end()));
  std::string rows;
  for (const std::size_t size : arguments.sizes) {
    const double us = half_round_trip_us(rank, size, arguments);
    char text[200];
    std::snprintf(text, sizeof text,
                  R"(%s{"size_bytes": %zu, "series": [{"name": "send_recv", "medians": {"median": %.4f}}]})",
                  rows.empty() ? "" : ", ", size, us);
    rows += text;
    if (my_rank == 0) std::printf("%-12zu %12.3f us\n", size, us);
  }
  check(nccl.comm_destroy(rank.communicator), "ncclCommDestroy");
  return rows;
}

void write_json(const std::string &path, const std::string &rows) {
  std::FILE *file = std::fopen(path.c_str(), "w");
  if (file == nullptr) fail(path + " cannot be written");
  std::fprintf(file, R"({"metric": {"unit": "us", "better": "lower"}, "rows": [%s]})", rows.c_str());
  if (std::fclose(file) != 0) fail(path + " cannot be written");
}

}  // namespace

int main(int argc, char **argv) {
  peers::program = "nccl_send_recv";
  const Arguments arguments = parse(argc, argv);
  int channel[2] = {-1, -1};
  // Forked before the vendor's runtime starts: it does not survive a fork.
  if (::pipe(channel) != 0) fail("pipe");
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  my_rank = child == 0 ? 1 : 0;
  load(arguments.library);
  ncclUniqueId id{};
  if (my_rank == 1) {
    ::close(channel[1]);
    if (::read(channel[0], &id, sizeof id) != static_cast<ssize_t>(sizeof id)) fail("rank 0 gave no identifier");
    (void)measure(id, arguments);
    return 0;
  }
  ::close(channel[0]);
  check(nccl.get_unique_id(&id), "ncclGetUniqueId");
  if (::write(channel[1], &id, sizeof id) != static_cast<ssize_t>(sizeof id)) fail("rank 1 took no identifier");
  int version = 0;
  check(nccl.version(&version), "ncclGetVersion");
  std::printf("NCCL %d\n", version);
  const std::string rows = measure(id, arguments);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) fail("rank 1 failed");
  if (!arguments.json.empty()) write_json(arguments.json, rows);
  return 0;
}
