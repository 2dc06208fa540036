// SPDX-License-Identifier: BSD-3-Clause
#include "plan/partitioned.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sluice::plan::partitioned_test {
namespace {

constexpr PartitionedSide kGood{MemoryKind::kDevice, true, true, 4096};

PartitionedReason decide(const PartitionedSide &own, bool sender_can = true, bool is_one_runtime = true,
                         std::uint64_t sent_bytes = 4096) {
  return decide_partitioned(own, sender_can, is_one_runtime, sent_bytes);
}

TEST(Partitioned, GoesDirectly_BetweenRunsOfDeviceMemoryOfOneLength) {
  EXPECT_EQ(judge_side(kGood), PartitionedReason::kDirect);
  EXPECT_EQ(decide(kGood), PartitionedReason::kDirect);
}

TEST(Partitioned, IsStaged_ForWhatOneSideHas) {
  EXPECT_EQ(judge_side({MemoryKind::kHost, true, true, 4096}), PartitionedReason::kNotDevice);
  EXPECT_EQ(judge_side({MemoryKind::kPinned, true, true, 4096}), PartitionedReason::kNotDevice);
  EXPECT_EQ(judge_side({MemoryKind::kShared, true, true, 4096}), PartitionedReason::kNotDevice);
  EXPECT_EQ(judge_side({MemoryKind::kDevice, false, true, 4096}), PartitionedReason::kGaps);
  EXPECT_EQ(judge_side({MemoryKind::kDevice, true, false, 4096}), PartitionedReason::kNoIpc);
  EXPECT_EQ(judge_side({MemoryKind::kDevice, true, true, 0}), PartitionedReason::kNoBytes);
}

TEST(Partitioned, IsStaged_ForWhatTheReceiverHears) {
  EXPECT_EQ(decide({MemoryKind::kHost, true, true, 4096}), PartitionedReason::kNotDevice);
  EXPECT_EQ(decide(kGood, false), PartitionedReason::kPeerCannot);
  EXPECT_EQ(decide(kGood, true, false), PartitionedReason::kOtherRuntime);
  EXPECT_EQ(decide(kGood, true, true, 4095), PartitionedReason::kOtherLength);
  EXPECT_EQ(decide(kGood, true, true, 4097), PartitionedReason::kOtherLength);
}

TEST(Partitioned, ExplainsEachReason) {
  for (int i = 0; i <= static_cast<int>(PartitionedReason::kOtherLength); ++i) {
    const std::string text = explain(static_cast<PartitionedReason>(i));
    EXPECT_EQ(text.starts_with("directly: "), i == 0) << text;
    EXPECT_EQ(text.starts_with("staged: "), i != 0) << text;
  }
}

}  // namespace
}  // namespace sluice::plan::partitioned_test
