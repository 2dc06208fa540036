// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a node choose together, from what they published.
#include "plan/joint.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::plan::joint_test {
namespace {

constexpr std::uint64_t kThreshold = 1000;

Offer good(std::uint64_t bytes = 4000) {
  return {false, true, true, "one", bytes, bytes};
}

std::vector<Offer> offers(std::size_t n, const Offer &offer = good()) {
  return std::vector<Offer>(n, offer);
}

constexpr JointQuery kMovement{false, kThreshold, 0};
constexpr JointQuery kBroadcast{true, kThreshold, 1000};

TEST(ChooseJoint, Pulls_WhenAllCan) {
  EXPECT_EQ(choose_joint(offers(4), kMovement).joint, Joint::kPull);
}

TEST(ChooseJoint, Stages_WhenOneCannot) {
  std::vector<Offer> some = offers(4);
  some[2].can_take_part = false;
  EXPECT_EQ(choose_joint(some, kMovement).joint, Joint::kStaged);
  EXPECT_EQ(choose_joint(some, kMovement).reason, JointReason::kRankCannot);
}

TEST(ChooseJoint, Fails_WhenOneHasFailed_WhateverTheOthersSay) {
  std::vector<Offer> some = offers(4);
  some[0].can_take_part = false;
  some[3].is_failing = true;
  EXPECT_EQ(choose_joint(some, kMovement).joint, Joint::kFail);
}

TEST(ChooseJoint, Stages_WhenBackendsDiffer_ButNotForARankWithoutBytes) {
  std::vector<Offer> some = offers(3);
  some[1].backend = "";
  some[1].largest_bytes = 0;
  EXPECT_EQ(choose_joint(some, kMovement).joint, Joint::kPull);
  some[1].backend = "two";
  EXPECT_EQ(choose_joint(some, kMovement).reason, JointReason::kTwoBackends);
}

TEST(ChooseJoint, ComparesTheLongestBufferWithTheThreshold) {
  std::vector<Offer> some = offers(3, good(kThreshold - 1));
  EXPECT_EQ(choose_joint(some, kMovement).reason, JointReason::kShort);
  some[2].largest_bytes = kThreshold;
  EXPECT_EQ(choose_joint(some, kMovement).joint, Joint::kPull);
  EXPECT_EQ(choose_joint(offers(3, good(0)), {false, 0, 0}).reason, JointReason::kNothing);
}

TEST(ChooseJoint, FeedsABroadcast_FromThreeRanksAndFourChunksOn) {
  EXPECT_EQ(choose_joint(offers(3), kBroadcast).joint, Joint::kChain);
  EXPECT_EQ(choose_joint(offers(2), kBroadcast).joint, Joint::kPull);
  EXPECT_EQ(choose_joint(offers(3, good(3999)), kBroadcast).joint, Joint::kPull);
  EXPECT_EQ(choose_joint(offers(3, good(kMostChunks)), {true, kThreshold, 1}).joint, Joint::kPull);
  EXPECT_EQ(choose_joint(offers(3), {true, kThreshold, 0}).joint, Joint::kPull);
  std::vector<Offer> some = offers(3);
  some[1].feeds = false;
  EXPECT_EQ(choose_joint(some, kBroadcast).joint, Joint::kPull);
}

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

TEST(ChainBlock, IsWhatTheKnobSays_WhereThatMakesChunksEnough) {
  EXPECT_EQ(chain_block(4000, 3, 1000), 1000U);
  EXPECT_EQ(chain_block(3999, 3, 1000), 0U);
  EXPECT_EQ(chain_block(4000, 2, 1000), 0U);
  EXPECT_EQ(chain_block(kMostChunks - 2, 3, 1), 1U);
  EXPECT_EQ(chain_block(kMostChunks - 1, 3, 1), 0U) << "with a shorter one it would be too many to tell";
}

TEST(ChainBlock, GrowsWithTheLength_AndShrinksWithTheRanksBetween) {
  EXPECT_EQ(chain_block(8 * kMebibyte - 1, 4, 0), 0U);
  EXPECT_EQ(chain_block(8 * kMebibyte, 4, 0), 2 * kMebibyte);
  EXPECT_EQ(chain_block(64 * kMebibyte, 3, 0), 8 * kMebibyte);
  EXPECT_EQ(chain_block(64 * kMebibyte, 4, 0), 4 * kMebibyte);
  EXPECT_EQ(chain_block(1024 * kMebibyte, 3, 0), 32 * kMebibyte);
  EXPECT_EQ(chain_block(1024 * kMebibyte, 4, 0), 22 * kMebibyte);
  EXPECT_EQ(chain_block(1024 * kMebibyte, 8, 0), 12 * kMebibyte);
  EXPECT_EQ(chain_block(1024 * kMebibyte, 2, 0), 0U);
  EXPECT_EQ(chain_block(0, 4, 0), 0U);
}

TEST(ChooseJoint, StagesABroadcast_WhenRanksNameDifferentLengths) {
  std::vector<Offer> some = offers(3);
  some[1].broadcast_bytes += 4;
  EXPECT_EQ(choose_joint(some, kBroadcast).reason, JointReason::kDifferentLengths);
}

TEST(ChooseJoint, SaysWhy) {
  EXPECT_EQ(explain(3, choose_joint(offers(3, good(10)), kMovement)),
            "3 ranks -> staged: no rank has a buffer as long as coll_ipc_threshold");
}

}  // namespace
}  // namespace sluice::plan::joint_test
