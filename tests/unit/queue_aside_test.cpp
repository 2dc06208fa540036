// SPDX-License-Identifier: BSD-3-Clause
#include "plan/queue_aside.hpp"

#include <gtest/gtest.h>

#include <array>

namespace sluice::plan::queue_aside_test {
namespace {

using Reason = QueueAsideReason;

constexpr std::array<std::optional<std::uint64_t>, 5> kTimes = {std::nullopt, 0, kLeastWorkNs - 1, kLeastWorkNs,
                                                                std::uint64_t{1} << 62U};

void expect_plan(const QueueAsideQuery &query, const QueueAsidePlan &wanted) {
  const QueueAsidePlan plan = choose_queue_aside(query);
  EXPECT_EQ(plan.is_aside, wanted.is_aside) << explain(query, plan);
  EXPECT_EQ(plan.reason, wanted.reason) << explain(query, plan);
}

TEST(QueueAside, IsWhereTheProgramHasWork) {
  expect_plan({QueueAside::kAuto, true, false, std::nullopt}, {false, Reason::kUnknown});
  expect_plan({QueueAside::kAuto, true, false, 0}, {false, Reason::kNoWork});
  expect_plan({QueueAside::kAuto, true, false, kLeastWorkNs - 1}, {false, Reason::kNoWork});
  expect_plan({QueueAside::kAuto, true, false, kLeastWorkNs}, {true, Reason::kWork});
  expect_plan({QueueAside::kAuto, true, false, 1000000}, {true, Reason::kWork});
}

// A trigger in the stream would overtake, or have to wait.
TEST(QueueAside, IsWhatFollowsSomethingThatIsNotJoined) {
  for (const auto &between : kTimes) {
    expect_plan({QueueAside::kAuto, true, true, between}, {true, Reason::kUnjoined});
  }
}

TEST(QueueAside, IsAsTheKnobSays_WhereTheStreamCan) {
  for (const auto &between : kTimes) {
    for (const bool is_unjoined : {false, true}) {
      expect_plan({QueueAside::kAlways, true, is_unjoined, between}, {true, Reason::kAsked});
    }
    for (const bool has_side : {false, true}) {
      expect_plan({QueueAside::kNever, has_side, false, between}, {false, Reason::kSwitchedOff});
    }
    for (const QueueAside wanted : {QueueAside::kAuto, QueueAside::kAlways}) {
      expect_plan({wanted, false, false, between}, {false, Reason::kNoSide});
    }
  }
}

TEST(QueueAside, IsForReceivesToo_WhereTheyHoldUpNoOthers) {
  constexpr QueueAsidePlan kAside = {true, Reason::kWork};
  constexpr QueueAsidePlan kNot = {false, Reason::kNoWork};
  EXPECT_EQ(choose_receives_aside(kAside, true, false), kAside);
  EXPECT_EQ(choose_receives_aside(kAside, true, true), (QueueAsidePlan{false, Reason::kUnjoined}));
  EXPECT_EQ(choose_receives_aside(kAside, false, false), (QueueAsidePlan{false, Reason::kNoSide}));
  EXPECT_EQ(choose_receives_aside(kNot, true, false), kNot);
  EXPECT_EQ(explain_receives(kAside), "queue receives -> aside: the program has work there, which they would hold up");
  EXPECT_EQ(explain_receives(kNot), "queue receives -> at the wait: the program has no work there");
}

TEST(QueueAside, IsNamedAsInItsKnob) {
  EXPECT_EQ(queue_aside_of("auto"), QueueAside::kAuto);
  EXPECT_EQ(queue_aside_of("always"), QueueAside::kAlways);
  EXPECT_EQ(queue_aside_of("never"), QueueAside::kNever);
  EXPECT_EQ(queue_aside_of("nothing of this"), QueueAside::kAuto);
}

TEST(QueueAside, ExplainsItself) {
  QueueAsideQuery query{QueueAside::kAuto, true, false, 3200};
  EXPECT_EQ(explain(query, choose_queue_aside(query)),
            "queue sends, auto, 3200 ns from start to wait -> aside: the program has work there, which they would hold "
            "up");
  query.between_ns.reset();
  EXPECT_EQ(explain(query, choose_queue_aside(query)),
            "queue sends, auto, no wait before -> in the stream: nobody knows yet whether the program has work there");
  query = {QueueAside::kAlways, false, false, 0};
  EXPECT_EQ(explain(query, choose_queue_aside(query)),
            "queue sends, always, 0 ns from start to wait -> in the stream: this stream has no side");
}

}  // namespace
}  // namespace sluice::plan::queue_aside_test
