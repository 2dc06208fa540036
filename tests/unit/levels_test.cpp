// SPDX-License-Identifier: BSD-3-Clause
// The choice between flat and two levels.
#include "plan/levels.hpp"

#include <gtest/gtest.h>

namespace sluice::plan::levels_test {
namespace {

LevelQuery bcast_on(int n_nodes, int most_local) {
  LevelQuery query;
  query.is_broadcast = true;
  query.size_bytes = 1000;
  query.threshold_bytes = 1000;
  query.n_nodes = n_nodes;
  query.most_local = most_local;
  query.is_uniform = true;
  query.is_node_major = true;
  query.ability = LevelAbility::kInSlices;
  return query;
}

TEST(LevelPlan, BroadcastsGoInLanes_OnLikeNodes) {
  EXPECT_EQ(choose_levels(bcast_on(2, 4)).levels, Levels::kLanes);
  LevelQuery query = bcast_on(2, 4);
  query.is_node_major = false;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLanes) << "a slice is nobody's place";
}

TEST(LevelPlan, BroadcastsGoByLeaders_WhereTheyCannotBeSliced) {
  LevelQuery query = bcast_on(2, 4);
  query.is_uniform = false;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLeaders);
  query = bcast_on(2, 4);
  query.ability = LevelAbility::kWhole;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLeaders);
  query = bcast_on(2, 4);
  query.size_bytes = kLongestSliced + 1;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLeaders);
}

TEST(LevelPlan, AllgathersNeedLikeNodesInOrder) {
  LevelQuery query = bcast_on(2, 4);
  query.is_broadcast = false;
  query.ability = LevelAbility::kWhole;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLanes);
  LevelQuery cyclic = query;
  cyclic.is_node_major = false;
  EXPECT_EQ(choose_levels(cyclic).levels, Levels::kFlat);
  LevelQuery unlike = query;
  unlike.is_uniform = false;
  EXPECT_EQ(choose_levels(unlike).levels, Levels::kFlat);
}

TEST(LevelPlan, IsFlat_WhereNothingIsGained) {
  EXPECT_EQ(choose_levels(bcast_on(1, 8)).levels, Levels::kFlat);
  EXPECT_EQ(choose_levels(bcast_on(8, 1)).levels, Levels::kFlat);
  LevelQuery query = bcast_on(2, 4);
  query.size_bytes = 999;
  EXPECT_EQ(choose_levels(query).levels, Levels::kFlat);
  query = bcast_on(2, 4);
  query.ability = LevelAbility::kNone;
  EXPECT_EQ(choose_levels(query).levels, Levels::kFlat);
}

LevelQuery allreduce_on(int n_nodes, int most_local) {
  LevelQuery query = bcast_on(n_nodes, most_local);
  query.is_broadcast = false;
  query.is_reduction = true;
  query.least_local = most_local;
  return query;
}

TEST(LevelPlan, ReductionsGoInLanes_OnUnlikeNodesToo) {
  EXPECT_EQ(choose_levels(allreduce_on(2, 4)).levels, Levels::kLanes);
  LevelQuery query = allreduce_on(2, 4);
  query.is_uniform = false;
  query.is_node_major = false;
  query.least_local = 3;
  query.size_bytes = 2 * kLongestSliced;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLanes);
  query.least_local = 1;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLeaders) << "as many lanes as the emptiest node has ranks";
  query = allreduce_on(2, 4);
  query.ability = LevelAbility::kWhole;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLeaders);
  query.ability = LevelAbility::kNone;
  EXPECT_EQ(choose_levels(query).levels, Levels::kFlat);
}

TEST(LevelPlan, ReductionsToOneRank_GoInLanesToItsNode) {
  LevelQuery query = allreduce_on(2, 4);
  query.is_rooted = true;
  query.is_uniform = false;
  query.is_node_major = false;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLanes);
  EXPECT_EQ(
      explain(8, query, choose_levels(query)),
      "8 ranks on 2 nodes, 1000 bytes -> lanes: each rank of a node reduces a slice and brings it to its own on the "
      "root's node");
  query.least_local = 1;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLeaders);
}

TEST(LevelPlan, ScatteredReductions_NeedLikeNodesInOrder) {
  LevelQuery query = allreduce_on(2, 4);
  query.is_scattered = true;
  EXPECT_EQ(choose_levels(query).levels, Levels::kLanes);
  LevelQuery cyclic = query;
  cyclic.is_node_major = false;
  EXPECT_EQ(choose_levels(cyclic).levels, Levels::kFlat);
  LevelQuery unlike = query;
  unlike.is_uniform = false;
  EXPECT_EQ(choose_levels(unlike).levels, Levels::kFlat);
  LevelQuery whole = query;
  whole.ability = LevelAbility::kWhole;
  EXPECT_EQ(choose_levels(whole).levels, Levels::kFlat) << "a leader would carry everything";
  query.size_bytes = kLongestSliced + 1;
  EXPECT_EQ(choose_levels(query).levels, Levels::kFlat);
}

TEST(LevelPlan, ReductionsStayFlat_WhenTheOrderOfTheRanksIsAskedFor) {
  LevelQuery query = allreduce_on(2, 4);
  query.keeps_order = true;
  EXPECT_FALSE(may_have_levels(query));
  EXPECT_EQ(explain(8, query, choose_levels(query)),
            "8 ranks on 2 nodes, 1000 bytes -> flat: SLUICE_REDUCE_ORDER is rank, and two levels reduce node by node");
}

TEST(LevelPlan, ExplainsItself) {
  const LevelQuery query = bcast_on(2, 4);
  EXPECT_EQ(explain(8, query, choose_levels(query)),
            "8 ranks on 2 nodes, 1000 bytes -> lanes: each rank of a node brings a slice to its own");
}

}  // namespace
}  // namespace sluice::plan::levels_test
