// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a node choose together for a reduction, from what they published.
#include "plan/joint_reduction.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace sluice::plan::joint_reduction_test {
namespace {

constexpr ReductionOffer kGood = {false, true, false, "one", 7, 4000};
constexpr JointReductionQuery kAll = {Delivery::kAllOfIt, 0, 1000, 16};

std::vector<ReductionOffer> offers(std::size_t n) {
  return std::vector<ReductionOffer>(n, kGood);
}

std::vector<ReductionOffer> with_one(std::size_t n, const ReductionOffer &other) {
  std::vector<ReductionOffer> some = offers(n);
  some.back() = other;
  return some;
}

TEST(ChooseJointReduction, SharesTheWork_WhenAllCan) {
  const JointReductionPlan plan = choose_joint_reduction(offers(4), kAll);
  EXPECT_EQ(plan.joint, JointReduction::kShares);
  EXPECT_FALSE(plan.needs_consent);
  EXPECT_EQ(explain(4, plan), "4 ranks -> shares: each rank reduces a part and writes it to all that get it");
}

TEST(ChooseJointReduction, AsksFirst_WhenAnInputIsWrittenOver) {
  const std::vector<ReductionOffer> one_in_place = with_one(4, {false, true, true, "one", 7, 4000});
  EXPECT_TRUE(choose_joint_reduction(one_in_place, kAll).needs_consent);
  EXPECT_TRUE(choose_joint_reduction(one_in_place, {Delivery::kBlocks, 0, 0, 16}).needs_consent);
  EXPECT_FALSE(choose_joint_reduction(offers(4), {Delivery::kBlocks, 0, 0, 16}).needs_consent);
}

TEST(ChooseJointReduction, Stages_WhenOneIsNotLikeTheOthers) {
  const auto reason = [](const ReductionOffer &other) {
    const JointReductionPlan plan = choose_joint_reduction(with_one(3, other), kAll);
    EXPECT_EQ(plan.joint, JointReduction::kStaged);
    return plan.reason;
  };
  EXPECT_EQ(reason({false, false, false, "one", 7, 4000}), ReductionReason::kRankCannot);
  EXPECT_EQ(reason({false, true, false, "two", 7, 4000}), ReductionReason::kTwoBackends);
  EXPECT_EQ(reason({false, true, false, "one", 8, 4000}), ReductionReason::kDifferentInputs);
  EXPECT_EQ(reason({false, true, false, "one", 7, 4004}), ReductionReason::kDifferentInputs);
}

TEST(ChooseJointReduction, Fails_WhenOneHasFailed) {
  EXPECT_EQ(choose_joint_reduction(with_one(3, {true, false, false, "", 0, 0}), kAll).joint, JointReduction::kFail);
}

TEST(ChooseJointReduction, StagesWhatIsShort) {
  std::vector<ReductionOffer> some = offers(2);
  for (ReductionOffer &offer : some) offer.size_bytes = 999;
  EXPECT_EQ(choose_joint_reduction(some, kAll).reason, ReductionReason::kShort);
  for (ReductionOffer &offer : some) offer.size_bytes = 0;
  EXPECT_EQ(choose_joint_reduction(some, {Delivery::kAllOfIt, 0, 0, 16}).reason, ReductionReason::kShort);
}

TEST(ChooseJointReduction, LetsEachComputeItsOwn_WhereOneReadsWhatItGets) {
  EXPECT_EQ(choose_joint_reduction(offers(4), {Delivery::kBlocks, 0, 0, 16}).joint, JointReduction::kApart);
  EXPECT_EQ(choose_joint_reduction(offers(4), {Delivery::kOfThoseBelow, 0, 0, 16}).joint, JointReduction::kApart);
}

TEST(ChooseJointReduction, LetsTheRootOfTwoRanksComputeAll) {
  EXPECT_EQ(choose_joint_reduction(offers(1), {Delivery::kAllToOne, 0, 0, 16}).joint, JointReduction::kApart);
  EXPECT_EQ(choose_joint_reduction(offers(2), {Delivery::kAllToOne, 1, 0, 16}).joint, JointReduction::kApart);
  EXPECT_EQ(choose_joint_reduction(offers(3), {Delivery::kAllToOne, 1, 0, 16}).joint, JointReduction::kShares);
}

TEST(ShareOfRank, IsEveryRanksOwn_AndNoneTheRootsOfAReduction) {
  for (const int n_ranks : {1, 2, 3, 4, 17}) {
    for (int root = 0; root < n_ranks; ++root) {
      for (int rank = 0; rank < n_ranks; ++rank) {
        EXPECT_EQ(share_of_rank(Delivery::kAllOfIt, root, n_ranks, rank), (ShareNumber{rank, n_ranks}));
        EXPECT_EQ(share_of_rank(Delivery::kOfThoseBelow, root, n_ranks, rank), (ShareNumber{rank, n_ranks}));
      }
    }
  }
  for (const int n_ranks : {3, 4, 17}) {
    for (int root = 0; root < n_ranks; ++root) {
      std::set<int> indices;
      for (int rank = 0; rank < n_ranks; ++rank) {
        const auto share = share_of_rank(Delivery::kAllToOne, root, n_ranks, rank);
        ASSERT_EQ(share.has_value(), rank != root) << rank << " of " << n_ranks << ", root " << root;
        if (!share) continue;
        EXPECT_EQ(share->n_shares, n_ranks - 1);
        indices.insert(share->index);
      }
      EXPECT_EQ(indices.size(), static_cast<std::size_t>(n_ranks - 1));
      EXPECT_EQ(*indices.begin(), 0);
      EXPECT_EQ(*indices.rbegin(), n_ranks - 2);
    }
  }
}

// With more ranks than a kernel takes, what there is so far lies where the result goes.
TEST(ChooseJointReduction, StagesWhatWouldBeWrittenOverTooEarly) {
  const ReductionOffer in_place = {false, true, true, "one", 7, 4000};
  const auto joint = [&](std::size_t n, const JointReductionQuery &query) {
    return choose_joint_reduction(with_one(n, in_place), query).joint;
  };
  EXPECT_EQ(joint(4, {Delivery::kBlocks, 0, 0, 16}), JointReduction::kApart);
  EXPECT_EQ(joint(17, {Delivery::kBlocks, 0, 0, 16}), JointReduction::kStaged);
  EXPECT_EQ(joint(4, {Delivery::kOfThoseBelow, 0, 0, 16}), JointReduction::kShares);
  EXPECT_EQ(joint(17, {Delivery::kOfThoseBelow, 0, 0, 16}), JointReduction::kStaged);
  EXPECT_EQ(joint(17, {Delivery::kAllToOne, 16, 0, 16}), JointReduction::kStaged);
  EXPECT_EQ(joint(17, {Delivery::kAllToOne, 15, 0, 16}), JointReduction::kShares);
  EXPECT_EQ(joint(17, kAll), JointReduction::kShares);
}

}  // namespace
}  // namespace sluice::plan::joint_reduction_test
