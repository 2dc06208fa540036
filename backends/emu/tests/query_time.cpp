// SPDX-License-Identifier: BSD-3-Clause
// Prints the time of query_pointer through the module's table: emu_query_time <libsluice_backend_emu.so>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "emurt.h"
#include "sluice/backend.h"

namespace {

// The median over 21 rounds, in nanoseconds for one query.
double query_ns(const sluice_backend_t &table, const void *address) {
  constexpr int kQueries = 100000;
  std::array<double, 21> rounds{};
  for (double &round : rounds) {
    sluice_pointer_info_t info;
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < kQueries; ++i) {
      if (table.query_pointer(address, &info) != SLUICE_SUCCESS) return -1;
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - before;
    round = time.count() / kQueries;
  }
  std::nth_element(rounds.begin(), rounds.begin() + rounds.size() / 2, rounds.end());
  return rounds[rounds.size() / 2];
}

}  // namespace

int main(int argc, char **argv) {
  void *module = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (module == nullptr) {
    std::fprintf(stderr, "usage: %s <module>\n", argv[0]);
    return 2;
  }
  auto entry = reinterpret_cast<sluice_backend_table_fn>(dlsym(module, SLUICE_BACKEND_TABLE_SYMBOL));
  if (entry == nullptr || entry()->init(nullptr) != SLUICE_SUCCESS) return 1;
  std::vector<void *> allocations;
  for (const size_t n : {size_t{1}, size_t{64}, size_t{1024}}) {
    while (allocations.size() < n) {
      void *memory = nullptr;
      if (emu_malloc_device(4096, &memory) != EMU_SUCCESS) return 1;
      allocations.push_back(memory);
    }
    const std::vector<char> heap(100);
    std::printf("%4zu allocations: host pointer %.1f ns, device pointer %.1f ns\n", n, query_ns(*entry(), heap.data()),
                query_ns(*entry(), static_cast<char *>(allocations[n / 2]) + 100));
  }
  return 0;
}
