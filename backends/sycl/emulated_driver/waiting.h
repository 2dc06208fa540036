// SPDX-License-Identifier: BSD-3-Clause
// Waiting with a time-out, as the specification has it.
#pragma once

#include <sched.h>

#include <cstdint>

#include "commands.h"

namespace sluice::emulated_driver {

// Waits until is_done() says so, at most `timeout_ns` (UINT64_MAX: for ever): ZE_RESULT_NOT_READY when it does not.
template <typename Condition>
ze_result_t wait_until(uint64_t timeout_ns, Condition is_done) {
  const uint64_t begin = now_ns();
  for (;;) {
    if (is_done()) return ZE_RESULT_SUCCESS;
    if (timeout_ns != UINT64_MAX && now_ns() - begin >= timeout_ns) return ZE_RESULT_NOT_READY;
    sched_yield();
  }
}

}  // namespace sluice::emulated_driver
