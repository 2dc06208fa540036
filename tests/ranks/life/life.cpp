// SPDX-License-Identifier: BSD-3-Clause
// How a job begins and ends where not all ranks take part as Sluice expects. A program of its own, without the harness,
// whose ranks are all alike:
// `--backend NAME` comes first: its memory is used on all ranks that have Sluice, and its runtime is there before MPI.
//   life without RANK    that rank of the launcher's runs without Sluice; a collective call and messages must be right
//   life ends HOW        the last rank ends by abort, kill, segv or exit while the others wait for it in their first
//                        collective call of the kind that shares memory
// LIFE_HIDES_LAUNCHER: what the launcher says of ranks is taken away first.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/ranks/life/rank_buffer.hpp"

namespace {

using sluice::tests::BackendModule;
using sluice::tests::RankBuffer;

constexpr const char *kIsWithout = "LIFE_IS_WITHOUT";

bool has_sluice() {
  return std::getenv(kIsWithout) == nullptr;
}

int rank_of_launcher() {
  for (const char *name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK"}) {
    if (const char *text = std::getenv(name); text != nullptr) return std::atoi(text);
  }
  return -1;
}

// Starts this program anew without what is preloaded.
void drop_preload(char **argv) {
  if (std::getenv(kIsWithout) != nullptr) return;
  setenv(kIsWithout, "1", 1);
  unsetenv("LD_PRELOAD");
  execv("/proc/self/exe", argv);
  std::perror("execv");
  std::exit(2);
}

void hide_launcher() {
  for (const char *name :
       {"MPI_LOCALNRANKS", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"}) {
    unsetenv(name);
  }
}

int wrong(int rank, const char *what) {
  std::printf("rank %d: %s is wrong\n", rank, what);
  return 1;
}

// As many numbers as an agreement of the library's could have, and a receive that takes any message.
int compute(const BackendModule &module) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int length = 1; length <= 40; ++length) {
    std::vector<std::uint64_t> numbers(static_cast<std::size_t>(length));
    for (int i = 0; i < length; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(rank * 100 + i);
    RankBuffer<std::uint64_t> sums(has_sluice() ? &module : nullptr, numbers.size());
    sums.put(numbers);
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), length, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    numbers = sums.get();
    for (int i = 0; i < length; ++i) {
      const auto right = static_cast<std::uint64_t>(100 * size * (size - 1) / 2 + size * i);
      if (numbers[static_cast<std::size_t>(i)] != right) return wrong(rank, "a sum");
    }
    MPI_Request request = MPI_REQUEST_NULL;
    RankBuffer<int> sent(has_sluice() ? &module : nullptr, 1);
    RankBuffer<int> got(has_sluice() ? &module : nullptr, 1);
    sent.put({1000 * rank + length});
    got.put({-1});
    MPI_Isend(sent.data(), 1, MPI_INT, (rank + 1) % size, length, MPI_COMM_WORLD, &request);
    MPI_Status status;
    MPI_Recv(got.data(), 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const int source = (rank + size - 1) % size;
    if (status.MPI_SOURCE != source || status.MPI_TAG != length || got.get()[0] != 1000 * source + length) {
      return wrong(rank, "a message");
    }
  }
  std::printf("rank %d: all is right\n", rank);
  return 0;
}

bool has_segment(int process) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:sluice") != std::string::npos || line.find("/dev/shm/sluice-") != std::string::npos)
      return true;
  }
  return false;
}

void end_by(const std::string &how) {
  const char *mark = std::getenv("LIFE_MARK");
  std::ofstream(mark != nullptr ? mark : "/dev/stdout") << "the last rank ends\n";  // closed, so written
  if (how == "abort") MPI_Abort(MPI_COMM_WORLD, 3);
  if (how == "kill") std::raise(SIGKILL);
  if (how == "segv") std::raise(SIGSEGV);
  std::_Exit(4);
}

int run_ending(const std::string &how) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int last = size - 1;
  if (rank == last) {
    int first = 0;
    MPI_Recv(&first, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    constexpr int kMostLooks = 3000;
    for (int n_looks = 0; !has_segment(first); ++n_looks) {
      if (n_looks == kMostLooks) {
        std::printf("rank 0 shares nothing\n");
        MPI_Abort(MPI_COMM_WORLD, 5);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    end_by(how);
  }
  if (rank == 0) {
    const int own = getpid();
    MPI_Send(&own, 1, MPI_INT, last, 1, MPI_COMM_WORLD);
  }
  std::vector<char> in(1000);
  std::vector<char> out(1000 * static_cast<std::size_t>(size));
  MPI_Allgather(in.data(), 1000, MPI_CHAR, out.data(), 1000, MPI_CHAR, MPI_COMM_WORLD);
  return 0;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  const std::string mode = argv[3];
  const std::string argument = argv[4];
  if (mode == "without" && rank_of_launcher() == std::atoi(argument.c_str())) drop_preload(argv);
  if (std::getenv("LIFE_HIDES_LAUNCHER") != nullptr) hide_launcher();
  std::string reason;
  const BackendModule *module = BackendModule::open(argv[2], reason);
  if (module == nullptr) {
    std::printf("skipped: %s\n", reason.c_str());
    return 77;
  }
  MPI_Init(&argc, &argv);
  int result = 2;
  if (mode == "without") result = compute(*module);
  if (mode == "ends") result = run_ending(argument);
  std::fflush(stdout);
  MPI_Finalize();
  return result;
}
