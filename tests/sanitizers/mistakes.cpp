// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sanitizers/mistakes.hpp"

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <map>
#include <thread>

namespace sluice::tests {
namespace {

// Reads one byte behind an allocation, whose size the compiler cannot know: g++ 14 follows a pointer that is no
// volatile back to its allocation, and its check of undefined behaviour speaks first.
void read_past_the_end() {
  const volatile int n_bytes = 100;
  const volatile char *const volatile bytes = new char[static_cast<std::size_t>(n_bytes)]{};
  const char past = bytes[n_bytes];  // NOLINT(clang-analyzer-core.uninitialized.Assign): the mistake
  std::printf("%d\n", past);
  delete[] bytes;
}

// The frame is gone when the caller looks for leaks, and with it the only pointer.
void lose_memory() {
  volatile char *bytes = new char[100];
  bytes[0] = 1;
  bytes = nullptr;
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): the mistake

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

bool make_mistake(const std::string &name) {
  const std::map<std::string, void (*)()> mistakes{{"none", [] {}},
                                                   {"read_past_the_end", read_past_the_end},
                                                   {"lose_memory", lose_memory},
                                                   {"overflow", overflow},
                                                   {"race", race}};
  const auto mistake = mistakes.find(name);
  if (mistake == mistakes.end()) return false;
  mistake->second();
  return true;
}

}  // namespace sluice::tests
