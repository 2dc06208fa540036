// SPDX-License-Identifier: BSD-3-Clause
// Random programs of collective calls, compared with their runs on host copies (tests/support/differential.hpp).
#include "tests/support/differential.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/ranks/coll/call_run.hpp"

namespace sluice::tests::differential_test {
namespace {

TEST(Differential, ProgramsAgreeWithTheirHostRun) {
  const Places places;
  compare_programs(150, 2000, [&](Trial &run, std::uint64_t seed, const std::string & /*trace*/) {
    const CollectiveProgram program = make_collective_program(seed, Session::get().size());
    std::string calls;
    for (const CollectiveCall &call : program.calls) calls += "\n  " + describe(call);
    SCOPED_TRACE(calls);
    run_collective_program(run, program, places);
  });
}

}  // namespace
}  // namespace sluice::tests::differential_test
