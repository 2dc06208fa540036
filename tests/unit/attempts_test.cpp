// SPDX-License-Identifier: BSD-3-Clause
// How often ranks ask each other whether they can move data together, after calls in which they could not.
#include "ops/comm/attempts.hpp"

#include <gtest/gtest.h>

namespace sluice::ops::coll::attempts_test {
namespace {

// Whatever the cycle of a program's calls is, one of them on devices is looked at in the end.
TEST(Attempts, FindTheOneCallOfACycleThatIsNotInVain) {
  for (int n_cycle = 1; n_cycle <= 20; ++n_cycle) {
    for (int at = 0; at < n_cycle; ++at) {
      Attempts attempts;
      for (int i = 0; i < 200; ++i) {
        if (attempts.is_due()) attempts.note_vain();
      }
      int n_calls = 0;
      while (n_calls < 67 * n_cycle) {
        const bool is_on_devices = n_calls++ % n_cycle == at;
        if (!attempts.is_due()) continue;
        if (is_on_devices) break;
        attempts.note_vain();
      }
      EXPECT_LT(n_calls, 67 * n_cycle) << n_cycle << " calls, " << at;
    }
  }
}

TEST(Attempts, AreFewWhereAllAreInVain) {
  Attempts attempts;
  int n_due = 0;
  for (int i = 0; i < 6700; ++i) {
    if (!attempts.is_due()) continue;
    ++n_due;
    attempts.note_vain();
  }
  EXPECT_GE(n_due, 100);
  EXPECT_LE(n_due, 106);
}

TEST(Attempts, OfLengthsAFactorOfFourApart_AreCountedApart) {
  EXPECT_EQ(length_class(0), 0U);
  for (std::uint64_t bytes = 1; bytes < std::uint64_t{1} << 20; bytes *= 4) {
    EXPECT_EQ(length_class(bytes * 4), std::min(length_class(bytes) + 1, kLengthClasses - 1)) << bytes;
  }
  EXPECT_LT(length_class(~std::uint64_t{0}), kLengthClasses);
}

}  // namespace
}  // namespace sluice::ops::coll::attempts_test
