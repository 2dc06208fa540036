// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call/call_order.hpp"

#include <gtest/gtest.h>

namespace sluice::ops::coll {
namespace {

constexpr int kCalls[3] = {};
constexpr const int *first = &kCalls[0];
constexpr const int *second = &kCalls[1];
constexpr const int *third = &kCalls[2];

TEST(CallOrder, GivesTheTurnToTheFirstThatHasNotLeft) {
  CallOrder order;
  order.join(first);
  order.join(second);
  order.join(third);
  EXPECT_TRUE(order.is_turn(first));
  EXPECT_FALSE(order.is_turn(second));
  order.leave(second);  // done, and the first is not
  EXPECT_FALSE(order.is_turn(third));
  order.leave(first);
  EXPECT_TRUE(order.is_turn(third));
  order.leave(third);
  EXPECT_FALSE(order.is_turn(third));
  order.join(third);  // started again
  EXPECT_TRUE(order.is_turn(third)) << "nobody is before it";
}

TEST(CallOrder, LetsBePlaced_WhenAllBeforeAre) {
  CallOrder order;
  order.join(first);
  order.join(second);
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
  order.join(first);
  order.join(second);
  order.leave(first);
  order.leave(first);
  order.leave(third);  // never came
  order.set_placed(first);
  EXPECT_TRUE(order.may_be_placed(second));
  EXPECT_TRUE(order.is_turn(second));
}

}  // namespace
}  // namespace sluice::ops::coll
