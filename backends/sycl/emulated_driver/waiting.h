// SPDX-License-Identifier: BSD-3-Clause
// Waiting with a time-out, as the specification has it.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "commands.h"

namespace sluice::emulated_driver {

// Looks this often before the thread sleeps between two looks: what it waits for may need the core.
constexpr unsigned kLooksBeforeSleep = 1000;
constexpr std::chrono::microseconds kSleep{20};

// Waits until is_done() says so, at most `timeout_ns` (UINT64_MAX: for ever): ZE_RESULT_NOT_READY when it does not.
template <typename Condition>
ze_result_t wait_until(uint64_t timeout_ns, Condition is_done) {
  const uint64_t begin = now_ns();
  for (unsigned n_looks = 0;; ++n_looks) {
    if (is_done()) return ZE_RESULT_SUCCESS;
    if (timeout_ns != UINT64_MAX && now_ns() - begin >= timeout_ns) return ZE_RESULT_NOT_READY;
    if (n_looks < kLooksBeforeSleep) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
}

}  // namespace sluice::emulated_driver
