// SPDX-License-Identifier: BSD-3-Clause
// Which ways the ranks of a collective call try, from what all of them know.
#include "plan/ways.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::plan::ways_test {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

CollectiveTerms usual_terms() {
  CollectiveTerms terms;
  terms.threshold_bytes = 64 * kKiB;
  terms.reduce_threshold_bytes = 4 * kKiB;
  terms.levels_threshold_bytes = 128 * kKiB;
  terms.segments_threshold_bytes = 4 * kMiB;
  terms.segment_bytes = kMiB;
  terms.unmet_threshold_bytes = 64 * kKiB;
  terms.unmet_reduce_threshold_bytes = 4 * kKiB;
  return terms;
}

CallFacts facts_of(Pattern pattern, std::uint64_t size_bytes) {
  CallFacts facts;
  facts.pattern = pattern;
  facts.has_channel = true;
  facts.is_of_one_group = true;
  facts.is_on_one_node = true;
  facts.can_be_reduced_in_parts = is_reduction(pattern);
  facts.known = LengthKnown::kAll;
  facts.n_ranks = 4;
  facts.size_bytes = size_bytes;
  return facts;
}

CallFacts on_nodes(CallFacts facts) {
  facts.is_on_one_node = false;
  return facts;
}

std::vector<Chance> chances(const CallFacts &facts, const CollectiveTerms &terms = usual_terms()) {
  std::vector<Chance> all;
  for (const WayChoice &choice : choose_ways(facts, terms)) {
    EXPECT_STRNE(choice.reason, "");
    all.push_back(choice.chance);
  }
  return all;
}

constexpr Chance kNone = Chance::kNone;
constexpr Chance kAsked = Chance::kAsked;
constexpr Chance kIfLong = Chance::kIfLong;
constexpr Chance kSure = Chance::kSure;

using List = std::vector<Chance>;

TEST(Ways, AreTriedInOneOrder) {
  const Ways ways = choose_ways(facts_of(Pattern::kBroadcast, 1), usual_terms());
  for (std::size_t i = 0; i < kWays; ++i) EXPECT_EQ(static_cast<std::size_t>(ways[i].way), i);
}

TEST(Ways, GoByLengthOnOneNode) {
  EXPECT_EQ(chances(facts_of(Pattern::kBroadcast, 64 * kKiB - 1)), (List{kNone, kNone, kNone, kSure}));
  EXPECT_EQ(chances(facts_of(Pattern::kBroadcast, 64 * kKiB)), (List{kAsked, kNone, kNone, kSure}));
  EXPECT_EQ(chances(facts_of(Pattern::kAllreduce, 4 * kKiB)), (List{kAsked, kNone, kNone, kSure}));
  EXPECT_EQ(chances(facts_of(Pattern::kAllreduce, 8 * kMiB)), (List{kAsked, kNone, kAsked, kSure}));
}

TEST(Ways, GoByLengthOnSeveralNodes) {
  EXPECT_EQ(chances(on_nodes(facts_of(Pattern::kAllgather, 128 * kKiB - 1))), (List{kNone, kNone, kNone, kSure}));
  EXPECT_EQ(chances(on_nodes(facts_of(Pattern::kAllgather, 128 * kKiB))), (List{kNone, kAsked, kNone, kSure}));
  EXPECT_EQ(chances(on_nodes(facts_of(Pattern::kAllgather, 16 * kMiB))), (List{kNone, kAsked, kAsked, kSure}));
  EXPECT_EQ(chances(on_nodes(facts_of(Pattern::kScatter, 16 * kMiB))), (List{kNone, kNone, kAsked, kSure}));
  CallFacts two = on_nodes(facts_of(Pattern::kBroadcast, kMiB));
  two.n_ranks = 2;
  EXPECT_EQ(chances(two), (List{kNone, kNone, kNone, kSure}));
}

TEST(Ways, AskWhetherItIsLong_WhereARankKnowsItsPartAlone) {
  CallFacts facts = facts_of(Pattern::kAlltoall, 0);
  facts.known = LengthKnown::kPart;
  facts.has_lengths = true;
  EXPECT_EQ(chances(facts), (List{kIfLong, kNone, kIfLong, kSure}));
  facts.is_alltoall_in_place = true;
  EXPECT_EQ(chances(facts), (List{kIfLong, kNone, kNone, kSure}));
}

TEST(Ways, AreTheHostMpisAlone_WhereNothingElseCanBe) {
  const List host_alone{kNone, kNone, kNone, kSure};
  for (const Pattern pattern : {Pattern::kBroadcast, Pattern::kAllreduce}) {
    for (bool CallFacts::*const needed : {&CallFacts::has_channel, &CallFacts::is_of_one_group}) {
      CallFacts facts = facts_of(pattern, 64 * kMiB);
      facts.*needed = false;
      EXPECT_EQ(chances(facts), host_alone);
      EXPECT_EQ(chances(on_nodes(facts)), host_alone);
    }
    CallFacts wrong = facts_of(pattern, 64 * kMiB);
    wrong.known = LengthKnown::kNot;
    EXPECT_EQ(chances(wrong), host_alone);
    EXPECT_EQ(chances(facts_of(pattern, 64 * kMiB), CollectiveTerms()), host_alone) << "all is switched off";
  }
  CallFacts own = facts_of(Pattern::kAllreduce, 64 * kMiB);
  own.has_own_operation = true;
  own.can_be_reduced_in_parts = false;
  EXPECT_EQ(chances(own), host_alone);
  EXPECT_EQ(chances(on_nodes(own)), host_alone);
}

TEST(Ways, WaitForAMeeting_WhereToAskTakesLongerThanACall) {
  CollectiveTerms terms = usual_terms();
  terms.unmet_threshold_bytes = kMiB;
  CallFacts facts = facts_of(Pattern::kBroadcast, 128 * kKiB);
  facts.is_blocking = false;
  EXPECT_EQ(chances(facts, terms).front(), Chance::kIfMet);
  facts.is_persistent = true;
  EXPECT_EQ(chances(facts, terms).front(), kAsked);
  facts.is_persistent = false;
  facts.size_bytes = kMiB;
  EXPECT_EQ(chances(facts, terms).front(), kAsked);
}

TEST(Ways, OfCallsWithRequestsHaveLevelsForAllreduceAlone) {
  CallFacts facts = on_nodes(facts_of(Pattern::kAllreduce, kMiB));
  facts.is_blocking = false;
  EXPECT_EQ(chances(facts), (List{kNone, kAsked, kNone, kSure}));
  facts.pattern = Pattern::kReduce;
  EXPECT_EQ(chances(facts), (List{kNone, kNone, kNone, kSure}));
}

TEST(Ways, SayWhetherTheHostMpiIsLeft_WhereTheRanksDoNotGoTogether) {
  EXPECT_TRUE(are_together_or_with_host(choose_ways(facts_of(Pattern::kBroadcast, kMiB), usual_terms())));
  EXPECT_FALSE(are_together_or_with_host(choose_ways(facts_of(Pattern::kBroadcast, 8 * kMiB), usual_terms())));
  EXPECT_FALSE(are_together_or_with_host(choose_ways(on_nodes(facts_of(Pattern::kBroadcast, kMiB)), usual_terms())));
}

TEST(Ways, AreExplained) {
  const Ways ways = choose_ways(facts_of(Pattern::kBroadcast, kMiB), usual_terms());
  EXPECT_EQ(explain(ways.front()),
            "together -> tried, if all ranks can: each rank may reach the device memory of the others");
}

}  // namespace
}  // namespace sluice::plan::ways_test
