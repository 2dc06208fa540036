// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/call_order.hpp"

#include <gtest/gtest.h>

namespace sluice::ops::coll {
namespace {

TEST(CallOrder, GivesTheTurnToTheFirstThatHasNotLeft) {
  CallOrder order;
  const auto first = order.join();
  const auto second = order.join();
  const auto third = order.join();
  EXPECT_TRUE(order.is_turn(first));
  EXPECT_FALSE(order.is_turn(second));
  order.leave(second);  // done, and the first is not
  EXPECT_FALSE(order.is_turn(third));
  order.leave(first);
  EXPECT_TRUE(order.is_turn(third));
  order.leave(third);
  EXPECT_FALSE(order.is_turn(third));
  EXPECT_TRUE(order.is_turn(order.join())) << "nobody is before it";
}

TEST(CallOrder, LetsBePlaced_WhenAllBeforeAre) {
  CallOrder order;
  const auto first = order.join();
  const auto second = order.join();
  EXPECT_TRUE(order.may_be_placed(first));
  EXPECT_FALSE(order.may_be_placed(second));
  EXPECT_FALSE(order.are_all_placed());
  order.set_placed(first);
  EXPECT_TRUE(order.may_be_placed(second));
  EXPECT_FALSE(order.is_turn(second)) << "placed is not gone";
  order.set_placed(second);
  EXPECT_TRUE(order.are_all_placed());
}

TEST(CallOrder, DoesNotMindWhoHasLeft) {
  CallOrder order;
  const auto first = order.join();
  const auto second = order.join();
  order.leave(first);
  order.leave(first);
  order.leave(0);
  order.set_placed(first);
  EXPECT_TRUE(order.may_be_placed(second));
  EXPECT_TRUE(order.is_turn(second));
}

}  // namespace
}  // namespace sluice::ops::coll
