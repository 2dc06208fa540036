// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call/call_order.hpp"

#include <gtest/gtest.h>

namespace sluice::ops::coll::call_order_test {
namespace {

constexpr int kCalls[3] = {};
constexpr const int *kFirst = &kCalls[0];
constexpr const int *kSecond = &kCalls[1];
constexpr const int *kThird = &kCalls[2];

TEST(CallOrder, GivesTheTurnToTheFirstThatHasNotLeft) {
  CallOrder order;
  order.join(kFirst);
  order.join(kSecond);
  order.join(kThird);
  EXPECT_TRUE(order.is_turn(kFirst));
  EXPECT_FALSE(order.is_turn(kSecond));
  order.leave(kSecond);  // done, and the one before is not
  EXPECT_FALSE(order.is_turn(kThird));
  order.leave(kFirst);
  EXPECT_TRUE(order.is_turn(kThird));
  order.leave(kThird);
  EXPECT_FALSE(order.is_turn(kThird));
  order.join(kThird);  // started again
  EXPECT_TRUE(order.is_turn(kThird)) << "nobody is before it";
}

TEST(CallOrder, LetsBePlaced_WhenAllBeforeAre) {
  CallOrder order;
  order.join(kFirst);
  order.join(kSecond);
  EXPECT_TRUE(order.may_be_placed(kFirst));
  EXPECT_FALSE(order.may_be_placed(kSecond));
  EXPECT_FALSE(order.are_all_placed());
  order.set_placed(kFirst);
  EXPECT_TRUE(order.may_be_placed(kSecond));
  EXPECT_FALSE(order.is_turn(kSecond)) << "placed is not gone";
  order.set_placed(kSecond);
  EXPECT_TRUE(order.are_all_placed());
}

TEST(CallOrder, DoesNotMindWhoHasLeft) {
  CallOrder order;
  order.join(kFirst);
  order.join(kSecond);
  order.leave(kFirst);
  order.leave(kFirst);
  order.leave(kThird);  // never came
  order.set_placed(kFirst);
  EXPECT_TRUE(order.may_be_placed(kSecond));
  EXPECT_TRUE(order.is_turn(kSecond));
}

}  // namespace
}  // namespace sluice::ops::coll::call_order_test
