// SPDX-License-Identifier: BSD-3-Clause
// Makes one mistake on purpose, which a sanitizer must report and a test must fail for: sanitizer_fault MISTAKE [--mpi].
// With --mpi it is made between MPI_Init and MPI_Finalize, as in the rank tests.
#include <mpi.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>

namespace {

// Reads one byte behind an allocation.
void read_past_the_end() {
  constexpr int kBytes = 100;
  const volatile char *bytes = new char[kBytes]{};
  const char past = bytes[kBytes];
  std::printf("%d\n", past);
  delete[] bytes;
}

// The frame is gone when the caller looks for leaks, and with it the only pointer.
void lose_memory() {
  volatile char *bytes = new char[100];
  bytes[0] = 1;
  bytes = nullptr;
}

void overflow() {
  volatile int value = INT_MAX;
  value = value + 1;
  std::printf("%d\n", value);
}

// Two threads write with nothing between them that orders the writes: a relaxed atomic does not.
void race() {
  static int shared = 0;
  std::atomic<bool> has_written{false};
  std::thread other([&] {
    ++shared;
    has_written.store(true, std::memory_order_relaxed);
  });
  while (!has_written.load(std::memory_order_relaxed)) {
    std::this_thread::yield();
  }
  ++shared;
  other.join();
  std::printf("%d\n", shared);
}

}  // namespace

int main(int argc, char **argv) {
  const std::map<std::string, void (*)()> mistakes{{"none", [] {}},
                                                   {"read_past_the_end", read_past_the_end},
                                                   {"lose_memory", lose_memory},
                                                   {"overflow", overflow},
                                                   {"race", race}};
  const auto mistake = argc > 1 ? mistakes.find(argv[1]) : mistakes.end();
  const bool has_mpi = argc == 3 && std::strcmp(argv[2], "--mpi") == 0;
  if (mistake == mistakes.end() || argc > (has_mpi ? 3 : 2)) {
    std::fprintf(stderr, "usage: sanitizer_fault none|read_past_the_end|lose_memory|overflow|race [--mpi]\n");
    return 2;
  }
  if (has_mpi && MPI_Init(&argc, &argv) != MPI_SUCCESS) {
    return 2;
  }
  mistake->second();
  if (has_mpi) {
    MPI_Finalize();
  }
  return 0;
}
