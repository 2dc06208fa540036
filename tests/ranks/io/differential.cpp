// SPDX-License-Identifier: BSD-3-Clause
// Random programs of file calls, compared with their runs on host copies (tests/support/differential.hpp).
#include "tests/support/differential.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/ranks/io/random_files.hpp"

namespace sluice::tests::differential_test {
namespace {

TEST(Differential, ProgramsAgreeWithTheirHostRun) {
  compare_programs(40, 1000, [](Trial &run, std::uint64_t seed, const std::string & /*trace*/) {
    const FileProgram program = make_file_program(seed, Session::get().size());
    SCOPED_TRACE(describe(program));
    run_file_program(run, program);
  });
}

}  // namespace
}  // namespace sluice::tests::differential_test
