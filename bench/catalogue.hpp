// SPDX-License-Identifier: BSD-3-Clause
// The tests there are. A new test is one file in its family's folder and one line in catalogue.cpp.
#pragma once

#include <span>

#include "bench/cli/test_info.hpp"
#include "bench/session.hpp"

namespace sluice::bench {

// What the command line needs to know; lives as long as the program.
std::span<const TestInfo> query_tests();

// Collective. Runs the test that the session's options name.
void run_test(Session &session);

}  // namespace sluice::bench
