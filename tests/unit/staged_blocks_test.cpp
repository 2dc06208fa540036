// SPDX-License-Identifier: BSD-3-Clause
// Staging of many blocks: what is read comes down, what is written goes up, and no other byte is touched, as an image
// and packed.
#include "transfer/staged_blocks.hpp"

#include <gtest/gtest.h>

#include "fake_device.hpp"

namespace sluice::transfer::staged_blocks_test {
namespace {

using tests::pattern;

constexpr std::byte kGap{0xee};
constexpr std::size_t kBytes = 256;

// 3 bytes at 0 and 2 at 5, in an extent of 8.
LayoutPtr gapped() {
  auto layout = std::make_shared<Layout>();
  layout->size_bytes = 5;
  layout->extent_bytes = 8;
  layout->end_byte = 7;
  layout->is_contiguous = false;
  layout->blocks = {{0, 3}, {5, 2}};
  return layout;
}

class BlockStaging : public tests::FakeDevice, public ::testing::WithParamInterface<bool> {
 protected:
  // Three blocks, not in order of their places: one that is read, one that is written, one that is neither.
  StagedBlocks opened(const LayoutPtr &layout) {
    memory_ = fake.allocate(SLUICE_MEMORY_DEVICE, kBytes, 0, kGap);
    const auto at = [&](std::size_t offset, Access access) {
      return StagedBlock{{memory_ + offset, 4, layout, place()}, access, nullptr};
    };
    StagedBlocks blocks;
    blocks.set(place(), {at(160, Access::kRead), at(32, Access::kWrite), at(96, Access::kNone)});
    const Status status =
        GetParam() ? blocks.open_image(StagingMemory::kMalloc) : blocks.open_packed(StagingMemory::kMalloc);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return blocks;
  }

  // Calls `body(memory, staged, i)` for each payload byte of a block.
  template <typename Body>
  void for_each_byte(const StagedBlock &block, Body body) {
    const Layout &layout = *block.region.layout;
    const std::vector<Block> whole = {{0, layout.size_bytes}};
    std::size_t i = 0;
    for (std::int64_t element = 0; element < block.region.count; ++element) {
      for (const Block &run : layout.is_contiguous ? whole : layout.blocks) {
        for (std::uint64_t k = 0; k < run.size_bytes; ++k, ++i) {
          const std::int64_t offset = element * layout.extent_bytes + run.offset_bytes + static_cast<std::int64_t>(k);
          const std::int64_t staged = GetParam() ? offset : static_cast<std::int64_t>(i);
          body(block.region.origin + offset, block.staged + staged, i);
        }
      }
    }
  }

  std::byte *memory_ = nullptr;
};

TEST_P(BlockStaging, MovesWhatIsReadAndWrittenAlone) {
  for (const LayoutPtr &layout : {std::make_shared<const Layout>(Layout::basic(6)), gapped()}) {
    const StagedBlocks blocks = opened(layout);
    const std::vector<StagedBlock> &all = blocks.blocks();
    for_each_byte(all[0],
                  [&](std::byte *memory, std::byte *, std::size_t i) { fake.alias(memory)[0] = pattern(i, 1); });
    ASSERT_TRUE(blocks.copy_down().is_ok());
    for_each_byte(all[0], [](std::byte *, std::byte *staged, std::size_t i) { EXPECT_EQ(*staged, pattern(i, 1)); });
    for_each_byte(all[1], [](std::byte *, std::byte *staged, std::size_t i) { *staged = pattern(i, 2); });
    std::vector<std::byte> wanted(fake.alias(memory_), fake.alias(memory_) + kBytes);
    for_each_byte(all[1], [&](std::byte *memory, std::byte *, std::size_t i) {
      wanted[static_cast<std::size_t>(memory - memory_)] = pattern(i, 2);
    });
    ASSERT_TRUE(blocks.copy_up().is_ok());
    EXPECT_EQ(std::vector<std::byte>(fake.alias(memory_), fake.alias(memory_) + kBytes), wanted);
  }
}

TEST_P(BlockStaging, KnowsItsSizes) {
  const StagedBlocks blocks = opened(gapped());
  EXPECT_EQ(blocks.size_bytes(), 3U * 4 * 5);
  EXPECT_EQ(blocks.moved_bytes(), 2U * 4 * 5);
  EXPECT_EQ(blocks.span().lowest, memory_ + 32);
  EXPECT_EQ(blocks.span().size_bytes, 160U - 32 + 3 * 8 + 7);
}

INSTANTIATE_TEST_SUITE_P(Forms, BlockStaging, ::testing::Bool());

}  // namespace
}  // namespace sluice::transfer::staged_blocks_test
