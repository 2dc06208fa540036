// SPDX-License-Identifier: BSD-3-Clause
// The switch: whether MPI calls go through Sluice at all (SLUICE_ENABLE).
#pragma once

#include <atomic>

#include "base/knobs.hpp"

namespace sluice {

namespace detail {
// 0 unread, 1 off, 2 on.
inline std::atomic<int> switch_state{0};
inline bool read_switch() {
  const bool is_on = Knobs::process().is_on("SLUICE_ENABLE");
  switch_state.store(is_on ? 2 : 1, std::memory_order_relaxed);
  return is_on;
}
}  // namespace detail

// True unless SLUICE_ENABLE is 0. Hot: one load after the first call. Any thread.
inline bool is_enabled() {
  const int state = detail::switch_state.load(std::memory_order_relaxed);
  return state != 0 ? state == 2 : detail::read_switch();
}

}  // namespace sluice
