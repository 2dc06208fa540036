// SPDX-License-Identifier: BSD-3-Clause
// Random one-sided programs, compared with their runs on host copies (tests/support/differential.hpp).
#include "tests/support/differential.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/ranks/rma/random_windows.hpp"

namespace sluice::tests {
namespace {

TEST(Differential, WindowProgramsAgreeWithTheirHostRun) {
  const Session &session = Session::get();
  compare_programs(40, 400, [&](Trial &run, std::uint64_t seed, const std::string & /*trace*/) {
    run_window_program(run, make_window_program(seed, session.size(), session.kinds()));
  });
}

}  // namespace
}  // namespace sluice::tests
