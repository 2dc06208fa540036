// SPDX-License-Identifier: BSD-3-Clause
// A payload that is one run of bytes, wherever it begins.
#include "transfer/region.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace sluice::transfer::region_test {
namespace {

constexpr std::int64_t kOffset = 24;
constexpr std::uint64_t kRun = 16;

// `count` elements of `blocks`, each as far from the next as `extent_bytes` says.
Region region_of(std::byte *origin, std::int64_t count, std::vector<Block> blocks, std::int64_t extent_bytes) {
  auto layout = std::make_shared<Layout>();
  layout->is_contiguous = false;
  layout->extent_bytes = extent_bytes;
  layout->first_byte = blocks.front().offset_bytes;
  for (const Block &block : blocks) layout->size_bytes += block.size_bytes;
  layout->blocks = std::move(blocks);
  return {origin, count, std::move(layout), {}};
}

TEST(NameAsBytes, NamesOneRunThatBeginsElsewhere) {
  std::array<std::byte, 256> memory{};
  Region region = region_of(memory.data(), 1, {{kOffset, kRun}}, 100);
  ASSERT_TRUE(name_as_bytes(&region));
  EXPECT_EQ(region.origin, memory.data() + kOffset);
  EXPECT_EQ(region.size_bytes(), kRun);
  EXPECT_TRUE(region.layout->is_contiguous);
  EXPECT_EQ(region.first_byte(), 0);
  EXPECT_EQ(region.span_bytes(), kRun);
}

TEST(NameAsBytes, NamesElementsThatTouchEachOther) {
  std::array<std::byte, 256> memory{};
  Region region = region_of(memory.data(), 5, {{kOffset, kRun}}, kRun);
  ASSERT_TRUE(name_as_bytes(&region));
  EXPECT_EQ(region.origin, memory.data() + kOffset);
  EXPECT_EQ(region.size_bytes(), 5 * kRun);
}

TEST(NameAsBytes, NamesAbsoluteAddresses) {
  std::array<std::byte, 64> memory{};
  const auto address = reinterpret_cast<std::intptr_t>(memory.data());
  Region region = region_of(nullptr, 1, {{address, kRun}}, 0);
  ASSERT_TRUE(name_as_bytes(&region));
  EXPECT_EQ(region.origin, memory.data());
}

TEST(NameAsBytes, LeavesWhatIsMoreThanOneRun_OrOneAlready) {
  std::array<std::byte, 256> memory{};
  for (Region region : {region_of(memory.data(), 2, {{kOffset, kRun}}, 100),
                        region_of(memory.data(), 2, {{kOffset, kRun}}, -static_cast<std::int64_t>(kRun)),
                        region_of(memory.data(), 1, {{kOffset, kRun}, {kOffset + 20, kRun}}, 100)}) {
    const LayoutPtr layout = region.layout;
    EXPECT_FALSE(name_as_bytes(&region));
    EXPECT_EQ(region.layout, layout);
    EXPECT_EQ(region.origin, memory.data());
  }
  Region plain{memory.data(), 7, std::make_shared<const Layout>(Layout::basic(4)), {}};
  EXPECT_FALSE(name_as_bytes(&plain));
  EXPECT_EQ(plain.count, 7);
}

}  // namespace
}  // namespace sluice::transfer::region_test
