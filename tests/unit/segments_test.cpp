// SPDX-License-Identifier: BSD-3-Clause
// How long collective operations are cut into segments.
#include "plan/segments.hpp"

#include <gtest/gtest.h>

namespace sluice::plan::segments_test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

SegmentQuery query_of(std::uint64_t block_bytes, std::uint64_t n_blocks) {
  return {block_bytes, n_blocks, 4 * kMiB, kMiB, SegmentAbility::kGains};
}

TEST(SegmentPlan, CutsByTheLongestBuffer) {
  EXPECT_EQ(choose_segments(query_of(8 * kMiB, 1)).n_segments, 8U);
  EXPECT_EQ(choose_segments(query_of(8 * kMiB + 1, 1)).n_segments, 9U);
  const SegmentPlan plan = choose_segments(query_of(2 * kMiB, 4));
  EXPECT_EQ(plan.part_bytes, kMiB / 4);
  EXPECT_EQ(plan.n_segments, 8U);
}

TEST(SegmentPlan, CutsBetweenElements) {
  SegmentQuery query = query_of(8 * kMiB, 1);
  query.unit_bytes = 12;
  EXPECT_EQ(choose_segments(query).part_bytes, kMiB - kMiB % 12);
  query.unit_bytes = 2 * kMiB;
  EXPECT_EQ(choose_segments(query).part_bytes, 2 * kMiB) << "one element at least";
}

TEST(SegmentPlan, KeepsPartsOfManyBlocksLong) {
  const SegmentPlan plan = choose_segments(query_of(kMiB, 1024));
  EXPECT_EQ(plan.part_bytes, kSmallestPartBytes);
  EXPECT_FALSE(may_be_cut(query_of(kSmallestPartBytes, 1024))) << "one segment is none";
}

TEST(SegmentPlan, StaysWhole_WhenShortOrSomeoneCannotOrNobodyGains) {
  EXPECT_FALSE(may_be_cut(query_of(4 * kMiB - 1, 1)));
  EXPECT_FALSE(may_be_cut(query_of(0, 4)));
  EXPECT_TRUE(may_be_cut(query_of(4 * kMiB, 1)));
  for (const SegmentAbility ability : {SegmentAbility::kNone, SegmentAbility::kCan}) {
    SegmentQuery query = query_of(8 * kMiB, 1);
    query.ability = ability;
    EXPECT_EQ(choose_segments(query).n_segments, 1U);
  }
}

SegmentQuery unequal(std::uint64_t longest_bytes, SegmentLengths lengths = SegmentLengths::kUnknown) {
  SegmentQuery query;
  query.threshold_bytes = 4 * kMiB;
  query.segment_bytes = kMiB;
  query.ability = SegmentAbility::kGains;
  query.lengths = lengths;
  query.longest_bytes = longest_bytes;
  return query;
}

TEST(SegmentPlan, CutsUnequalBlocksByTheLongestBufferOfAll) {
  EXPECT_EQ(choose_segments(unequal(8 * kMiB)).n_segments, 8U);
  EXPECT_EQ(choose_segments(unequal(8 * kMiB + 1)).n_segments, 9U);
  EXPECT_EQ(choose_segments(unequal(4 * kMiB - 1)).n_segments, 1U);
  EXPECT_TRUE(may_be_cut(unequal(0))) << "no rank knows how long it is for others";
  EXPECT_TRUE(may_be_cut(unequal(4 * kMiB, SegmentLengths::kKnown)));
  EXPECT_FALSE(may_be_cut(unequal(4 * kMiB - 1, SegmentLengths::kKnown)));
  for (const SegmentAbility ability : {SegmentAbility::kNone, SegmentAbility::kCan}) {
    SegmentQuery query = unequal(8 * kMiB);
    query.ability = ability;
    EXPECT_EQ(choose_segments(query).n_segments, 1U);
  }
  SegmentQuery query = unequal(kMiB);
  query.threshold_bytes = 0;
  EXPECT_EQ(choose_segments(query).n_segments, 1U) << "one segment is none";
}

TEST(SegmentPlan, BringsEachUnequalBlockThroughInSoManySegments) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, 5 * kSmallestPartBytes, 8 * kMiB + 7}) {
    std::uint64_t before = ~std::uint64_t{0};
    for (const std::uint64_t n_segments : {1U, 3U, 8U, 100U, 1U << 20}) {
      const std::uint64_t part = unequal_part_bytes(bytes, n_segments, kMiB);
      EXPECT_GE(part * n_segments, bytes);
      EXPECT_GE(part, kSmallestPartBytes) << "short blocks go early";
      EXPECT_LE(part, before) << "more segments make no part longer";
      before = part;
    }
  }
  EXPECT_EQ(unequal_part_bytes(8 * kMiB, 8, kMiB), kMiB);
}

TEST(SegmentPlan, ExplainsItself) {
  const SegmentQuery query = query_of(8 * kMiB, 1);
  EXPECT_EQ(explain(4, query, choose_segments(query)),
            "4 ranks, 1 x 8388608 bytes -> 8 segments: copies and messages of different segments overlap");
  EXPECT_EQ(explain(3, unequal(kMiB), choose_segments(unequal(kMiB))),
            "3 ranks, unequal blocks, at most 1048576 bytes a buffer -> whole: it is too short");
}

}  // namespace
}  // namespace sluice::plan::segments_test
