// SPDX-License-Identifier: BSD-3-Clause
// The body of a kernel that keeps a device busy for a number of steps (sluice/testing/probe.h, group `work`): what one
// work-item does. Written once; each backend compiles it with its device's compiler, as check.hpp.
#pragma once

#include <cstdint>

#ifndef SLUICE_KERNELS_FUNCTION
#define SLUICE_KERNELS_FUNCTION inline
#endif

namespace sluice::kernels {

struct WorkTask {
  std::uint64_t n_steps;
  std::uint64_t *results;  // one for each item, so that no compiler drops the steps
};

// All items do the same.
SLUICE_KERNELS_FUNCTION void work_share(const WorkTask &task, std::uint64_t item, std::uint64_t /*n_items*/) {
  std::uint64_t x = 0x9e3779b97f4a7c15U;
  for (std::uint64_t k = 0; k < task.n_steps; ++k) {
    x ^= x << 13U;
    x ^= x >> 7U;
    x ^= x << 17U;
  }
  task.results[item] = x;
}

}  // namespace sluice::kernels
