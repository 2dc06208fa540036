// SPDX-License-Identifier: BSD-3-Clause
// The data movement collectives of sluice-bench with NCCL's: as many processes as devices are asked for, every call
// followed by a wait for its stream, as a blocking MPI call must. Of each iteration the slowest rank counts; us,
// median.
//
//   nccl_collectives --library libnccl.so.2 --ranks 4 --tests bcast,alltoall --sizes 4096,65536 -i 50 -x 5
//   nccl_collectives ... --tests alltoallv --layout uneven        the counts of sluice-bench --layout uneven
//
// Prints a line for each test and size: name, bytes, microseconds. A size is what sluice-bench means by it: the bytes
// that a rank sends to each other one. What NCCL has no call for is a group of its sends and receives.
#include <cuda_runtime.h>
#include <nccl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "nccl_library.hpp"
#include "uneven_blocks.hpp"

namespace {

using peers::check;
using peers::fail;
using peers::load;
using peers::my_rank;
using peers::nccl;

constexpr int kMostRanks = 16;
constexpr int kPattern = 0x40;

// Between the processes: made before they are.
struct Shared {
  ncclUniqueId id;
  std::atomic<int> arrived;
  std::atomic<int> generation;
  double taken_us[kMostRanks];
};
static_assert(std::atomic<int>::is_always_lock_free);

// Gives up after a minute: a rank may have failed.
void meet(Shared *shared, int n_ranks) {
  const int generation = shared->generation.load();
  if (shared->arrived.fetch_add(1) + 1 == n_ranks) {
    shared->arrived.store(0);
    shared->generation.fetch_add(1);
    return;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (unsigned looks = 1; shared->generation.load() == generation; ++looks) {
    if (looks % 4096 == 0) {
      ::sched_yield();
      if (std::chrono::steady_clock::now() > end) fail("another rank does not come");
    }
  }
}

struct Arguments {
  std::string library = "libnccl.so.2";
  std::vector<std::string> tests;
  std::vector<std::size_t> sizes;
  int n_ranks = 2;
  int iterations = 50;
  int warmup = 5;
  bool is_uneven = false;  // alltoallv
};

std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) words.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return words;
}

Arguments parse(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    const std::string value = argv[i + 1];
    if (option == "--library") {
      arguments.library = value;
    } else if (option == "--tests") {
      arguments.tests = split(value);
    } else if (option == "--sizes") {
      for (const std::string &word : split(value)) arguments.sizes.push_back(std::stoull(word));
    } else if (option == "--layout" && (value == "even" || value == "uneven")) {
      arguments.is_uneven = value == "uneven";
    } else if (option == "--ranks") {
      arguments.n_ranks = std::stoi(value);
    } else if (option == "-i") {
      arguments.iterations = std::stoi(value);
    } else if (option == "-x") {
      arguments.warmup = std::stoi(value);
    } else {
      fail("unknown option " + option);
    }
  }
  if (arguments.sizes.empty() || arguments.tests.empty() || arguments.iterations < 1 || arguments.n_ranks < 2 ||
      arguments.n_ranks > kMostRanks) {
    fail("--tests, --sizes, -i and 2 to 16 --ranks are needed");
  }
  return arguments;
}

bool is_reduction(const std::string &test) {
  return test == "allreduce" || test == "reduce" || test == "reduce_scatter_block";
}

struct Rank {
  int n_ranks = 0;
  bool is_uneven = false;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  char *outgoing = nullptr;
  char *incoming = nullptr;

  void send(std::size_t block, int to, std::size_t size) const {
    check(nccl.send(outgoing + block * size, size, ncclChar, to, communicator, stream), "ncclSend");
  }
  void receive(std::size_t block, int from, std::size_t size) const {
    check(nccl.recv(incoming + block * size, size, ncclChar, from, communicator, stream), "ncclRecv");
  }

  // What rank `from` has for rank `to` in alltoallv.
  std::size_t length(int from, int to, std::size_t size) const {
    return is_uneven ? peers::uneven_block(size, from, to) : size;
  }

  // alltoallv: blocks of each pair's length, one after the other; no call for what is empty.
  void exchange(std::size_t size) const {
    std::size_t sent = 0;
    std::size_t received = 0;
    for (int peer = 0; peer < n_ranks; ++peer) {
      const std::size_t out = length(my_rank, peer, size);
      const std::size_t in = length(peer, my_rank, size);
      if (out > 0) check(nccl.send(outgoing + sent, out, ncclChar, peer, communicator, stream), "ncclSend");
      if (in > 0) check(nccl.recv(incoming + received, in, ncclChar, peer, communicator, stream), "ncclRecv");
      sent += out;
      received += in;
    }
  }

  // Sums of `n` floats of each rank.
  void reduce(const std::string &test, std::size_t n) const {
    if (test == "allreduce") {
      check(nccl.all_reduce(outgoing, incoming, n, ncclFloat, ncclSum, communicator, stream), "ncclAllReduce");
    } else if (test == "reduce") {
      check(nccl.reduce(outgoing, incoming, n, ncclFloat, ncclSum, 0, communicator, stream), "ncclReduce");
    } else {
      const std::size_t block = n / static_cast<std::size_t>(n_ranks);
      check(nccl.reduce_scatter(outgoing, incoming, block, ncclFloat, ncclSum, communicator, stream),
            "ncclReduceScatter");
    }
  }

  void begin(const std::string &test, std::size_t size) const {
    if (test == "bcast") {
      char *buffer = my_rank == 0 ? outgoing : incoming;
      check(nccl.broadcast(buffer, buffer, size, ncclChar, 0, communicator, stream), "ncclBroadcast");
      return;
    }
    if (test == "allgather") {
      check(nccl.all_gather(outgoing, incoming, size, ncclChar, communicator, stream), "ncclAllGather");
      return;
    }
    if (is_reduction(test)) return reduce(test, size / sizeof(float));
    check(nccl.group_start(), "ncclGroupStart");
    for (int peer = 0; peer < n_ranks; ++peer) {
      const auto block = static_cast<std::size_t>(peer);
      if (test == "alltoall") {
        send(block, peer, size);
        receive(block, peer, size);
      } else if (test == "gather" && my_rank == 0) {
        receive(block, peer, size);
      } else if (test == "scatter" && my_rank == 0) {
        send(block, peer, size);
      }
    }
    if (test == "alltoallv") exchange(size);
    if (test == "gather") send(0, 0, size);
    if (test == "scatter") receive(0, 0, size);
    check(nccl.group_end(), "ncclGroupEnd");
  }

  void run(const std::string &test, std::size_t size) const {
    begin(test, size);
    check(cudaStreamSynchronize(stream), "synchronisation");
  }
};

// Where data has come from rank `from`, its last byte, before `end`, must say so.
void check_before(const char *end, std::size_t size, int from) {
  char last = 0;
  check(cudaMemcpy(&last, end - 1, 1, cudaMemcpyDeviceToHost), "reading back");
  if (last != kPattern + from) fail("the last byte of a block of " + std::to_string(size) + " did not arrive");
}

void check_last(const char *incoming, std::size_t size, std::size_t block, int from) {
  check_before(incoming + (block + 1) * size, size, from);
}

void check_lengths(const Rank &rank, std::size_t size) {
  const char *end = rank.incoming;
  for (int from = 0; from < rank.n_ranks; ++from) {
    const std::size_t length = rank.length(from, my_rank, size);
    end += length;
    if (length > 0) check_before(end, length, from);
  }
}

float number_of(int rank) {
  float number = 0;
  std::memset(&number, kPattern + rank, sizeof number);
  return number;
}

// The last number of a sum, whose order is the library's.
void check_sum(const Rank &rank, std::size_t size) {
  float wanted = 0;
  for (int from = 0; from < rank.n_ranks; ++from) wanted += number_of(from);
  float last = 0;
  check(cudaMemcpy(&last, rank.incoming + size - sizeof last, sizeof last, cudaMemcpyDeviceToHost), "reading back");
  if (std::abs(last - wanted) > 1e-5F * wanted)
    fail("the last number of a sum of " + std::to_string(size) + " is wrong");
}

void check_all(const Rank &rank, const std::string &test, std::size_t size) {
  if (is_reduction(test)) {
    const std::size_t block = size / sizeof(float) / static_cast<std::size_t>(rank.n_ranks) * sizeof(float);
    if (test != "reduce" || my_rank == 0) check_sum(rank, test == "reduce_scatter_block" ? block : size);
    return;
  }
  if (test == "bcast" || test == "scatter") {
    if (my_rank != 0) check_last(rank.incoming, size, 0, 0);
    return;
  }
  if (test == "gather" && my_rank != 0) return;
  if (test == "alltoallv") return check_lengths(rank, size);
  for (int from = 0; from < rank.n_ranks; ++from) {
    check_last(rank.incoming, size, static_cast<std::size_t>(from), from);
  }
}

double median_us(const Rank &rank, const std::string &test, std::size_t size, const Arguments &arguments,
                 Shared *shared) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  for (int i = -arguments.warmup; i < arguments.iterations; ++i) {
    meet(shared, arguments.n_ranks);
    const auto begin = Clock::now();
    rank.run(test, size);
    shared->taken_us[my_rank] = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    meet(shared, arguments.n_ranks);
    if (i >= 0) samples.push_back(*std::max_element(shared->taken_us, shared->taken_us + arguments.n_ranks));
  }
  check_all(rank, test, size);
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

// A sum is of floats, and a block of it has one at least.
void check_sizes(const Arguments &arguments) {
  for (const std::string &test : arguments.tests) {
    const auto n_blocks = test == "reduce_scatter_block" ? static_cast<std::size_t>(arguments.n_ranks) : 1;
    for (const std::size_t size : arguments.sizes) {
      if (!is_reduction(test) || size >= n_blocks * sizeof(float)) continue;
      fail(test + ": " + std::to_string(size) + " bytes are less than a float for each block; leave that size out");
    }
  }
}

int measure(const Arguments &arguments, Shared *shared) {
  load(arguments.library);
  check(cudaSetDevice(my_rank), "choice of device");
  if (my_rank == 0) check(nccl.get_unique_id(&shared->id), "ncclGetUniqueId");
  meet(shared, arguments.n_ranks);
  // An uneven block is up to two sizes.
  const std::size_t room = *std::max_element(arguments.sizes.begin(), arguments.sizes.end()) *
                           static_cast<std::size_t>(arguments.n_ranks) * (arguments.is_uneven ? 2 : 1);
  Rank rank;
  rank.n_ranks = arguments.n_ranks;
  rank.is_uneven = arguments.is_uneven;
  check(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking), "stream");
  check(cudaMalloc(&rank.outgoing, room), "device memory");
  check(cudaMalloc(&rank.incoming, room), "device memory");
  check(nccl.comm_init_rank(&rank.communicator, arguments.n_ranks, shared->id, my_rank), "ncclCommInitRank");
  check(cudaMemset(rank.outgoing, kPattern + my_rank, room), "filling");
  for (const std::string &test : arguments.tests) {
    for (const std::size_t size : arguments.sizes) {
      check(cudaMemset(rank.incoming, 0, room), "clearing");
      check(cudaDeviceSynchronize(), "synchronisation");
      const double us = median_us(rank, test, size, arguments, shared);
      if (my_rank == 0) std::printf("%s %zu %.3f\n", test.c_str(), size, us);
    }
  }
  check(nccl.comm_destroy(rank.communicator), "ncclCommDestroy");
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  peers::program = "nccl_collectives";
  const Arguments arguments = parse(argc, argv);
  check_sizes(arguments);
  void *memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no shared memory");
  auto *shared = new (memory) Shared{};
  // Forked before the vendor's runtime starts: it does not survive a fork.
  std::vector<pid_t> children;
  for (int rank = 1; rank < arguments.n_ranks; ++rank) {
    const pid_t child = ::fork();
    if (child < 0) fail("fork");
    if (child == 0) {
      my_rank = rank;
      return measure(arguments, shared);
    }
    children.push_back(child);
  }
  measure(arguments, shared);
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) fail("another rank failed");
  }
  return 0;
}
