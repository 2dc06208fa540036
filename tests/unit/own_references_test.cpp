// SPDX-License-Identifier: BSD-3-Clause
#include "base/own_references.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace sluice {
namespace {

TEST(OwnReferences, AreWhatTheProgramItselfCalls) {
  rusage used{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &used), 0);  // a call, by the program's own file
  EXPECT_TRUE(program_refers_to("getrusage"));
  EXPECT_FALSE(program_refers_to("MPIX_Stream_comm_create"));
  EXPECT_FALSE(program_refers_to("getrusag")) << "a part of a name";
  EXPECT_FALSE(program_refers_to(""));
}

}  // namespace
}  // namespace sluice
