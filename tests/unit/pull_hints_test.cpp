// SPDX-License-Identifier: BSD-3-Clause
// After a peer asked for blocks the next sends to it, and to nobody else, are not offered.
#include "ops/p2p/pull_hints.hpp"

#include <gtest/gtest.h>

namespace sluice::ops::pull_hints_test {
namespace {

TEST(PullHints, OffersAgain_AfterAsManySendsAsItSays) {
  PullHints hints(3);
  EXPECT_TRUE(hints.may_offer(1));
  hints.note_blocks(1);
  for (int i = 0; i < PullHints::kPatience; ++i) EXPECT_FALSE(hints.may_offer(1)) << i;
  EXPECT_TRUE(hints.may_offer(1));
  EXPECT_TRUE(hints.may_offer(1)) << "until it asks for blocks again";
  hints.note_blocks(1);
  EXPECT_FALSE(hints.may_offer(1));
}

TEST(PullHints, SayNothingOfOtherPeers) {
  PullHints hints(3);
  hints.note_blocks(1);
  EXPECT_TRUE(hints.may_offer(0));
  EXPECT_TRUE(hints.may_offer(2));
}

}  // namespace
}  // namespace sluice::ops::pull_hints_test
