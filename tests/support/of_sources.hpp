// SPDX-License-Identifier: BSD-3-Clause
// Groups of tests by the files that they stand in.
#pragma once

#include <string>
#include <string_view>

namespace sluice::tests {

// Leaves all tests out but those of `sources`, file names with commas between ("a.cpp,b.cpp"); "" leaves all in. Of
// these tests the negative part of --gtest_filter leaves out more. Returns "" or what is wrong: a file without a test,
// or a filter that names tests to run. Call it behind testing::InitGoogleTest.
std::string choose_tests_of(std::string_view sources);

}  // namespace sluice::tests
