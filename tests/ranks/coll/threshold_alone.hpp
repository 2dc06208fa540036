// SPDX-License-Identifier: BSD-3-Clause
// How suites are started that want a program which sets a threshold alone: calls are looked at by length, and left out
// where they were in vain.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/given_setting.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {

inline bool has_threshold_alone() {
  return std::getenv("SLUICE_COLL_IPC") == nullptr && given_setting("coll_ipc_threshold") == "8K";
}

#define SKIP_WITHOUT_THRESHOLD_ALONE()                                                \
  if (!has_threshold_alone() || Session::get().size() < 2) {                          \
    GTEST_SKIP() << "not started with coll_ipc_threshold=8K alone, or with one rank"; \
  }

}  // namespace sluice::tests
