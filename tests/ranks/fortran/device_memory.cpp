// SPDX-License-Identifier: BSD-3-Clause
// What a Fortran test program needs from C: memory of any kind with guards and patterns (tests/support), by address.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/memory.hpp"

namespace {

using sluice::tests::BackendModule;
using sluice::tests::Kind;
using sluice::tests::Memory;

const BackendModule *module = nullptr;
std::vector<std::unique_ptr<Memory>> memories;

const Memory &memory_at(const void *address) {
  const auto found =
      std::ranges::find_if(memories, [&](const auto &candidate) { return candidate->data() == address; });
  if (found == memories.end()) {
    throw std::runtime_error(fmt::format("{} is no memory of this test", address));
  }
  return **found;
}

// Nothing may fly into Fortran. Returns what `body` returns, or `failed`.
template <typename Result, typename Body>
Result reported(Result failed, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception &error) {
    fmt::print(stderr, "test memory: {}\n", error.what());
    return failed;
  }
}

}  // namespace

extern "C" {

// Opens the backend of that name. 0 when there is none here, with a line that says why.
int test_memory_open(const char *backend) {
  return reported(0, [&] {
    std::string reason;
    module = BackendModule::open(backend, reason);
    if (module == nullptr) {
      fmt::print("skipped: {}\n", reason);
      return 0;
    }
    module->set_device(0);
    return 1;
  });
}

// Memory of device (1) or host (0), full of poison; null when there is none. Kept until test_memory_free_all.
void *test_memory_new(int is_device, std::int64_t size_bytes) {
  return reported<void *>(nullptr, [&] {
    const Kind kind = is_device != 0 ? Kind::device : Kind::host;
    // Every second pointer is interior to its allocation.
    const bool has_front_guard = memories.size() % 2 == 1;
    memories.push_back(std::make_unique<Memory>(module, kind, static_cast<std::size_t>(size_bytes), has_front_guard));
    return memories.back()->data();
  });
}

void test_memory_free_all() {
  memories.clear();
}

// Fills all of it with what `rank` sends in `iteration`.
void test_memory_fill(void *address, int rank, int iteration) {
  reported(0, [&] {
    memory_at(address).fill_pattern(rank, iteration);
    return 0;
  });
}

// Poison everywhere, as at the beginning.
void test_memory_poison(void *address) {
  reported(0, [&] {
    memory_at(address).fill(sluice::tests::kPoison);
    return 0;
  });
}

// 1 when the memory and its guards are what `n_runs` runs of `run_bytes` received bytes, one each `stride_bytes`, must
// have left: at those places the bytes that the sender had at the same places, poison at all others. Else 0, with a
// line on what differs.
int test_memory_check(void *address, int rank, int iteration, std::int64_t n_runs, std::int64_t run_bytes,
                      std::int64_t stride_bytes) {
  return reported(0, [&] {
    const Memory &memory = memory_at(address);
    const sluice::tests::Bytes actual = memory.read_with_guards();
    sluice::tests::Bytes expected(actual.size(), sluice::tests::kPoison);
    const std::size_t front = actual.size() - memory.size_bytes() - sluice::tests::kGuardBytes;
    for (std::int64_t run = 0; run < n_runs; ++run) {
      for (std::int64_t i = 0; i < run_bytes; ++i) {
        const auto at = static_cast<std::size_t>(run * stride_bytes + i);
        expected.at(front + at) = sluice::tests::pattern_byte(rank, at, iteration);
      }
    }
    const std::string difference = sluice::tests::find_difference(expected, actual);
    if (!difference.empty()) fmt::print("{} buffer: {}\n", kind_name(memory.kind()), difference);
    std::fflush(stdout);
    return difference.empty() ? 1 : 0;
  });
}

// A stream of the program's on the backend's first device; null when it has none.
void *test_stream_new() {
  if (module == nullptr || module->table().program_stream_create == nullptr) return nullptr;
  void *stream = nullptr;
  return module->table().program_stream_create(&stream) == SLUICE_SUCCESS ? stream : nullptr;
}

// 0 when it worked.
int test_stream_free(void *stream) {
  return module->table().program_stream_destroy(stream) == SLUICE_SUCCESS ? 0 : 1;
}

int test_stream_synchronize(void *stream) {
  return module->table().program_stream_synchronize(stream) == SLUICE_SUCCESS ? 0 : 1;
}

}  // extern "C"
