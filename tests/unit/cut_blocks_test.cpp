// SPDX-License-Identifier: BSD-3-Clause
// Parts of blocks through staging memory: what is read comes down, what is written goes up, and the block that is in
// place is left alone; blocks of one length, and of different lengths in any order with gaps between them.
#include "transfer/cut_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "fake_device.hpp"

namespace sluice::transfer::cut_blocks_test {
namespace {

using tests::pattern;

constexpr std::size_t kBlocks = 3;
constexpr std::size_t kBlockBytes = 100;
constexpr std::size_t kPartBytes = 40;
constexpr std::byte kPoison{0xee};

class CutBlocksTest : public tests::FakeDevice, public ::testing::WithParamInterface<bool> {
 protected:
  // The blocks' memory: of a device or of the host.
  std::byte *memory(std::size_t bytes) {
    if (GetParam()) return fake.allocate(SLUICE_MEMORY_DEVICE, bytes);
    host_.assign(bytes, kPoison);
    return host_.data();
  }
  device::Place where() { return GetParam() ? place() : device::Place(); }
  CutShape shape() {
    CutShape made = CutShape::of_equal(memory(kBlocks * kBlockBytes), where(), kBlocks, kBlockBytes, kPartBytes);
    made.skipped = 1;
    return made;
  }

  // Where the CPU may touch it.
  std::byte *bytes_of(std::byte *begin) const { return GetParam() ? fake.alias(begin) : begin; }

  static void wait(CutBlocks *blocks, std::size_t slot) {
    for (bool is_done = false; !is_done;) {
      const Status status = blocks->poll(slot, &is_done);
      ASSERT_TRUE(status.is_ok()) << status.message();
    }
  }

  std::vector<std::byte> host_;
};

TEST_P(CutBlocksTest, BringsEachPartDownAndUp) {
  CutBlocks blocks;
  const CutShape whole = shape();
  ASSERT_TRUE(blocks.open(whole, StagingMemory::kMalloc).is_ok());
  std::byte *const bytes = bytes_of(whole.blocks[0].begin);
  for (std::size_t i = 0; i < kBlocks * kBlockBytes; ++i) bytes[i] = pattern(i, 0);
  std::size_t slot = 0;
  for (std::size_t offset = 0; offset < kBlockBytes; offset += kPartBytes, ++slot) {
    const CutPart part{offset, std::min(kPartBytes, kBlockBytes - offset)};
    std::byte *staged = blocks.data(slot, slot);
    ASSERT_TRUE(blocks.begin_down(slot, slot).is_ok());
    wait(&blocks, slot);
    for (std::size_t block = 0; block < kBlocks; ++block) {
      for (std::size_t i = 0; i < part.size_bytes && block != 1; ++i) {
        EXPECT_EQ(staged[block * part.size_bytes + i], pattern(block * kBlockBytes + offset + i, 0));
      }
    }
    for (std::size_t i = 0; i < kBlocks * part.size_bytes; ++i) staged[i] = pattern(i, offset + 1);
    ASSERT_TRUE(blocks.begin_up(slot, slot).is_ok());
    wait(&blocks, slot);
    for (std::size_t block = 0; block < kBlocks; ++block) {
      for (std::size_t i = 0; i < part.size_bytes; ++i) {
        const std::size_t at = block * kBlockBytes + offset + i;
        const std::byte want = block == 1 ? pattern(at, 0) : pattern(block * part.size_bytes + i, offset + 1);
        ASSERT_EQ(bytes[at], want) << "block " << block << " byte " << offset + i;
      }
    }
  }
}

struct Unequal {
  std::size_t offset;
  std::size_t size_bytes;
};
constexpr std::size_t kSpan = 500;
// In no order, one of no bytes, one that is through in the first segment.
constexpr std::array<Unequal, 4> kUnequal = {{{300, 130}, {0, 0}, {10, 90}, {120, 20}}};

TEST_P(CutBlocksTest, BringsPartsOfUnequalBlocksToWhereItSays) {
  std::byte *const begin = memory(kSpan);
  CutShape unequal;
  unequal.place = where();
  unequal.is_laid_out = true;
  unequal.is_kept_apart = true;
  for (const Unequal &block : kUnequal) unequal.blocks.push_back({begin + block.offset, block.size_bytes, 64});
  CutBlocks blocks;
  ASSERT_TRUE(blocks.open(unequal, StagingMemory::kMalloc).is_ok());
  blocks.set_part(0, 50);  // shorter than it was opened with
  std::byte *const bytes = bytes_of(begin);
  for (std::size_t i = 0; i < kSpan; ++i) bytes[i] = pattern(i, 0);
  std::vector<std::size_t> done(kUnequal.size());
  for (std::size_t segment = 0; segment < 3; ++segment) {
    ASSERT_TRUE(blocks.begin_down(segment, segment).is_ok());
    wait(&blocks, segment);
    blocks.lay_out(segment, segment);
    std::size_t sum = 0;
    for (std::size_t block = 0; block < kUnequal.size(); ++block) {
      const auto size = static_cast<std::size_t>(blocks.sizes(segment)[block]);
      std::byte *const staged = blocks.data(segment, segment) + blocks.places(segment)[block];
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(staged[i], pattern(kUnequal[block].offset + done[block] + i, 0)) << "block " << block;
        staged[i] = pattern(done[block] + i, block + 1);
      }
      done[block] += size;
      sum += size;
    }
    EXPECT_EQ(blocks.size_bytes(segment), sum);
    ASSERT_TRUE(blocks.begin_up(segment, segment).is_ok());
    wait(&blocks, segment);
  }
  std::vector<std::byte> want(kSpan);
  for (std::size_t i = 0; i < kSpan; ++i) want[i] = pattern(i, 0);
  for (std::size_t block = 0; block < kUnequal.size(); ++block) {
    EXPECT_EQ(done[block], kUnequal[block].size_bytes);
    for (std::size_t i = 0; i < done[block]; ++i) want[kUnequal[block].offset + i] = pattern(i, block + 1);
  }
  EXPECT_TRUE(std::equal(want.begin(), want.end(), bytes));
}

INSTANTIATE_TEST_SUITE_P(Kinds, CutBlocksTest, ::testing::Bool(),
                         [](const auto &each) { return each.param ? "Device" : "Host"; });

TEST(CutBlocks, GivesOneBlockOfHostMemoryAsItIs) {
  std::vector<std::byte> memory(kBlockBytes);
  CutBlocks blocks;
  const CutShape shape = CutShape::of_equal(memory.data(), {}, 1, kBlockBytes, kPartBytes);
  ASSERT_TRUE(blocks.open(shape, StagingMemory::kMalloc).is_ok());
  EXPECT_EQ(blocks.data(2, 1), memory.data() + kPartBytes);
}

TEST(CutBlocks, SaysWhereBlocksOfHostMemoryLie_AsTheyAre) {
  std::vector<std::byte> memory(kSpan);
  CutShape shape;
  shape.is_laid_out = true;
  for (const Unequal &block : kUnequal) shape.blocks.push_back({memory.data() + block.offset, block.size_bytes, 40});
  CutBlocks blocks;
  ASSERT_TRUE(blocks.open(shape, StagingMemory::kMalloc).is_ok());
  blocks.lay_out(0, 2);
  EXPECT_EQ(blocks.data(0, 2) + blocks.places(0)[0], memory.data() + 380);
  EXPECT_EQ(blocks.data(0, 2) + blocks.places(0)[2], memory.data() + 90);
  EXPECT_EQ((std::vector<int>{blocks.sizes(0), blocks.sizes(0) + 4}), (std::vector<int>{40, 0, 10, 0}));
}

TEST(CutBlocks, GivesNothing_WithoutABuffer) {
  CutBlocks blocks;
  ASSERT_TRUE(blocks.open({}, StagingMemory::kMalloc).is_ok());
  EXPECT_EQ(blocks.data(0, 0), nullptr);
  EXPECT_TRUE(blocks.begin_down(0, 0).is_ok());
}

}  // namespace
}  // namespace sluice::transfer::cut_blocks_test
