// SPDX-License-Identifier: BSD-3-Clause
// The cut of a message into blocks: every byte in one block, in order, whatever the size; and plans from elsewhere.
#include "transfer/blocks.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace sluice::transfer::blocks_test {
namespace {

constexpr Pipeline kPipelines[] = {Pipeline::kNone, Pipeline::kEven, Pipeline::kAdvanced, Pipeline::kAuto};

std::vector<std::uint64_t> blocks_of(const BlockPlan &plan) {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t block = 0; block < plan.n_blocks; ++block) sizes.push_back(plan.block_bytes(block));
  return sizes;
}

TEST(Blocks_Cut, CoversEveryByteOnce_ForEveryPipelineAndSize) {
  for (const Pipeline pipeline : kPipelines) {
    for (const std::uint64_t size :
         {1ULL, 2ULL, 3ULL, 7ULL, 4096ULL, 65535ULL, 65536ULL, 65537ULL, 1'000'003ULL, (1ULL << 30) + 1}) {
      for (const std::uint32_t n : {1U, 2U, 3U, 8U, 1000U}) {
        const BlockPlan plan = cut(pipeline, size, n);
        ASSERT_TRUE(plan.is_sound()) << name(pipeline) << ' ' << size << ' ' << n;
        std::uint64_t offset = 0;
        for (std::uint32_t block = 0; block < plan.n_blocks; ++block) {
          ASSERT_EQ(plan.offset_bytes(block), offset);
          ASSERT_GT(plan.block_bytes(block), 0U);
          ASSERT_LE(plan.block_bytes(block), plan.largest_bytes());
          offset += plan.block_bytes(block);
        }
        EXPECT_EQ(offset, size);
      }
    }
  }
}

TEST(Blocks_Cut, IsThePapers) {
  EXPECT_EQ(blocks_of(cut(Pipeline::kNone, 1000, 4)), (std::vector<std::uint64_t>{1000}));
  EXPECT_EQ(blocks_of(cut(Pipeline::kEven, 1000, 4)), (std::vector<std::uint64_t>{250, 250, 250, 250}));
  // Listing 1: half a block first, and what it gave up at the end.
  EXPECT_EQ(blocks_of(cut(Pipeline::kAdvanced, 1000, 4)), (std::vector<std::uint64_t>{125, 250, 250, 375}));
  EXPECT_EQ(blocks_of(cut(Pipeline::kAdvanced, 1003, 2)), (std::vector<std::uint64_t>{250, 753}));
}

TEST(Blocks_Cut, GivesAShortMessageFewerBlocks) {
  EXPECT_EQ(cut(Pipeline::kEven, 3, 2).n_blocks, 1U);
  EXPECT_EQ(cut(Pipeline::kAuto, kAutoSmallestBlockBytes, 9).n_blocks, 1U);
  EXPECT_EQ(cut(Pipeline::kAuto, 64 * kAutoBlockBytes, 9).n_blocks, 64U);
}

TEST(Blocks_BlocksOf, CountsThoseThatHoldABeginning) {
  const BlockPlan plan = cut(Pipeline::kAdvanced, 1000, 4);  // ends at 125, 375, 625, 1000
  EXPECT_EQ(plan.blocks_of(0), 0U);
  EXPECT_EQ(plan.blocks_of(1), 1U);
  EXPECT_EQ(plan.blocks_of(125), 1U);
  EXPECT_EQ(plan.blocks_of(126), 2U);
  EXPECT_EQ(plan.blocks_of(375), 2U);
  EXPECT_EQ(plan.blocks_of(376), 3U);
  EXPECT_EQ(plan.blocks_of(626), 4U);
  EXPECT_EQ(plan.blocks_of(1000), 4U);
}

TEST(Blocks_IsSound, RefusesWhatDoesNotAddUp) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE((BlockPlan{0, 0, 0, 1}.is_sound()));
  EXPECT_FALSE((BlockPlan{10, 10, 10, 0}.is_sound()));
  EXPECT_FALSE((BlockPlan{10, 0, 5, 2}.is_sound()));
  EXPECT_FALSE((BlockPlan{10, 10, 5, 2}.is_sound()));
  EXPECT_FALSE((BlockPlan{10, 4, 0, 3}.is_sound()));
  EXPECT_FALSE((BlockPlan{10, 4, 6, 3}.is_sound())) << "nothing is left for the last block";
  EXPECT_TRUE((BlockPlan{10, 4, 5, 3}.is_sound()));
  EXPECT_FALSE((BlockPlan{most, 1, most, 3}.is_sound()));
  EXPECT_FALSE((BlockPlan{1000, 1, most / 2, 4}.is_sound()));
}

}  // namespace
}  // namespace sluice::transfer::blocks_test
