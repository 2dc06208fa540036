// SPDX-License-Identifier: BSD-3-Clause
// Staging: a region's payload comes down packed and goes up again, byte for byte, and no other byte is touched.
#include "transfer/staged.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "fake_device.hpp"

namespace sluice::transfer::staged_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using tests::Call;
using tests::pattern;

constexpr std::byte kGap{0xee};

// Elements of 10 bytes in an extent of 16: 3 bytes at 2, 1 at 0, 6 at 8, in this order of travel.
LayoutPtr scattered() {
  auto layout = std::make_shared<Layout>();
  layout->size_bytes = 10;
  layout->extent_bytes = 16;
  layout->is_contiguous = false;
  layout->blocks = {{2, 3}, {0, 1}, {8, 6}};
  return layout;
}

LayoutPtr contiguous(std::uint64_t size) {
  return std::make_shared<Layout>(Layout::basic(size));
}

// Where each byte of the payload lies, from the origin on, in the order of travel: the layout said a second way.
std::vector<std::int64_t> offsets(const Layout &layout, std::int64_t count) {
  std::vector<std::int64_t> result;
  for (std::int64_t element = 0; element < count; ++element) {
    const std::vector<Block> whole = {{0, layout.size_bytes}};
    for (const Block &block : layout.is_contiguous ? whole : layout.blocks) {
      for (std::uint64_t i = 0; i < block.size_bytes; ++i) {
        result.push_back(element * layout.extent_bytes + block.offset_bytes + static_cast<std::int64_t>(i));
      }
    }
  }
  return result;
}

class Staging : public tests::FakeDevice {
 protected:
  // `bytes` of gaps in device memory, with the origin `origin_offset` into them.
  Region region(const LayoutPtr &layout, std::int64_t count, std::size_t bytes, std::ptrdiff_t origin_offset = 0) {
    memory_ = fake.allocate(SLUICE_MEMORY_DEVICE, bytes, 0, kGap);
    bytes_ = bytes;
    return {memory_ + origin_offset, count, layout, place()};
  }
  static Staged opened(const Region &region, StagingMemory memory = StagingMemory::kRuntime) {
    Staged staged;
    const Status status = staged.open(region, memory);
    EXPECT_TRUE(status.is_ok()) << status.message();
    EXPECT_TRUE(staged.is_open());
    return staged;
  }

  // Fills the payload with a pattern, brings it down, and says whether every byte came.
  bool comes_down(const Region &region) {
    const std::vector<std::int64_t> where = offsets(*region.layout, region.count);
    for (std::size_t i = 0; i < where.size(); ++i) fake.alias(region.origin + where[i])[0] = pattern(i, 1);
    const Staged staged = opened(region);
    const Status status = staged.copy_down();
    EXPECT_TRUE(status.is_ok()) << status.message();
    for (std::size_t i = 0; i < where.size(); ++i) {
      if (staged.data()[i] != pattern(i, 1)) return false;
    }
    return true;
  }

  // Brings `size` patterned bytes up, and says whether they arrived and no other byte of the memory changed.
  bool goes_up(const Region &region, std::uint64_t size) {
    std::fill_n(fake.alias(memory_), bytes_, kGap);
    const Staged staged = opened(region);
    for (std::size_t i = 0; i < region.size_bytes(); ++i) staged.data()[i] = pattern(i, 2);
    const Status status = staged.copy_up(size);
    EXPECT_TRUE(status.is_ok()) << status.message();
    std::vector<std::byte> expected(bytes_, kGap);
    const std::vector<std::int64_t> where = offsets(*region.layout, region.count);
    for (std::size_t i = 0; i < std::min<std::size_t>(size, where.size()); ++i) {
      expected.at(static_cast<std::size_t>(region.origin - memory_ + where[i])) = pattern(i, 2);
    }
    return std::equal(expected.begin(), expected.end(), fake.alias(memory_));
  }

  std::byte *memory_ = nullptr;
  std::size_t bytes_ = 0;
};

TEST_F(Staging, OfOneRun_BringsEveryByte) {
  for (const std::int64_t count : {1, 2, 513, 40000}) {
    const Region r = region(contiguous(8), count, static_cast<std::size_t>(count) * 8 + 3);
    EXPECT_EQ(r.size_bytes(), static_cast<std::uint64_t>(count) * 8);
    EXPECT_TRUE(comes_down(r)) << count;
    EXPECT_TRUE(goes_up(r, r.size_bytes())) << count;
  }
}

// Elements 3 to 6 of 10, down and up; the others stay as they are on both sides.
TEST_F(Staging, OfSomeElements_BringsThoseAlone) {
  constexpr std::int64_t kCount = 10;
  constexpr std::int64_t kFirst = 3;
  constexpr std::int64_t kSome = 4;
  for (const LayoutPtr &layout : {contiguous(10), scattered()}) {
    const Region r = region(layout, kCount, 200);
    const std::vector<std::int64_t> where = offsets(*layout, kCount);
    const std::size_t begin = kFirst * layout->size_bytes;
    const std::size_t end = begin + kSome * layout->size_bytes;
    const Staged staged = opened(r);
    std::fill_n(staged.data(), r.size_bytes(), kGap);
    for (std::size_t i = 0; i < where.size(); ++i) fake.alias(r.origin + where[i])[0] = pattern(i, 1);
    ASSERT_TRUE(staged.copy_elements_down(kFirst, kSome).is_ok());
    for (std::size_t i = 0; i < where.size(); ++i) {
      EXPECT_EQ(staged.data()[i], i >= begin && i < end ? pattern(i, 1) : kGap) << i;
    }
    std::fill_n(fake.alias(memory_), bytes_, kGap);
    for (std::size_t i = 0; i < where.size(); ++i) staged.data()[i] = pattern(i, 2);
    ASSERT_TRUE(staged.copy_elements_up(kFirst, kSome).is_ok());
    std::vector<std::byte> expected(bytes_, kGap);
    for (std::size_t i = begin; i < end; ++i) expected.at(static_cast<std::size_t>(where[i])) = pattern(i, 2);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), fake.alias(memory_)));
  }
}

TEST_F(Staging, AsAnImage_HasEachByteWhereTheRegionHasIt) {
  auto layout = std::make_shared<Layout>(*scattered());
  layout->end_byte = 14;
  for (const std::int64_t extent : {16, -16}) {
    layout->extent_bytes = extent;
    constexpr std::int64_t kCount = 3;
    const Region r = region(layout, kCount, 100, extent < 0 ? 50 : 3);
    EXPECT_EQ(r.first_byte(), extent < 0 ? -32 : 0);
    ASSERT_EQ(r.span_bytes(), 46U);
    const std::vector<std::int64_t> where = offsets(*layout, kCount);
    for (std::size_t i = 0; i < where.size(); ++i) fake.alias(r.origin + where[i])[0] = pattern(i, 3);
    Staged staged;
    ASSERT_TRUE(staged.open_image(r, StagingMemory::kMalloc).is_ok());
    ASSERT_TRUE(staged.copy_down().is_ok());
    for (std::size_t i = 0; i < where.size(); ++i) EXPECT_EQ(staged.image_origin()[where[i]], pattern(i, 3)) << i;
  }
}

// The gap between two allocations cannot be read, so the image is filled block by block.
TEST_F(Staging, AsAnImageOfTwoAllocations_LeavesTheGapAlone) {
  std::byte *low = fake.allocate(SLUICE_MEMORY_DEVICE, 64, 0, kGap);
  std::byte *high = fake.allocate(SLUICE_MEMORY_DEVICE, 64, 0, kGap);
  if (low > high) std::swap(low, high);
  auto layout = std::make_shared<Layout>(*scattered());
  layout->blocks = {{high - low, 4}, {1, 6}};
  layout->first_byte = 1;
  layout->end_byte = layout->extent_bytes = high - low + 4;
  memory_ = low;
  const Region r = {low, 1, layout, place()};
  const std::vector<std::int64_t> where = offsets(*layout, 1);
  for (std::size_t i = 0; i < where.size(); ++i) fake.alias(low + where[i])[0] = pattern(i, 4);
  Staged staged;
  ASSERT_TRUE(staged.open_image(r, StagingMemory::kMalloc).is_ok());
  ASSERT_TRUE(staged.copy_down().is_ok());
  for (std::size_t i = 0; i < where.size(); ++i) EXPECT_EQ(staged.image_origin()[where[i]], pattern(i, 4)) << i;
}

TEST_F(Staging, OfOneRun_LeavesWhatLiesBehindAShortMessage) {
  const Region r = region(contiguous(4), 100, 450);
  for (const std::uint64_t size : {0U, 1U, 399U, 400U, 401U, 100000U}) EXPECT_TRUE(goes_up(r, size)) << size;
}

TEST_F(Staging, WithGaps_BringsThePayload) {
  for (const std::int64_t count : {1, 2, 37}) {
    EXPECT_TRUE(comes_down(region(scattered(), count, static_cast<std::size_t>(count) * 16))) << count;
  }
}

TEST_F(Staging, WithGaps_TouchesNoOtherByte_AtEveryShortSize) {
  const Region r = region(scattered(), 5, 100);
  for (std::uint64_t size = 0; size <= 51; ++size) EXPECT_TRUE(goes_up(r, size)) << size;
}

TEST_F(Staging, WithGaps_KnowsNegativeExtentsAndOffsets) {
  auto layout = std::make_shared<Layout>();
  layout->size_bytes = 5;
  layout->extent_bytes = -16;
  layout->first_byte = -3;
  layout->is_contiguous = false;
  layout->blocks = {{-3, 2}, {4, 3}};
  const Region r = region(layout, 6, 120, 100);
  EXPECT_TRUE(comes_down(r));
  for (std::uint64_t size = 0; size <= 30; ++size) EXPECT_TRUE(goes_up(r, size)) << size;
}

// MPI_BOTTOM: the origin is null and the offsets are addresses.
TEST_F(Staging, WithGaps_KnowsANullOrigin) {
  std::byte *memory = fake.allocate(SLUICE_MEMORY_DEVICE, 64, 0, kGap);
  auto layout = std::make_shared<Layout>();
  layout->size_bytes = 6;
  layout->is_contiguous = false;
  const auto base = reinterpret_cast<std::intptr_t>(memory);
  layout->blocks = {{base + 10, 2}, {base + 40, 4}};
  const Staged staged = opened({nullptr, 1, layout, place()});
  for (std::size_t i = 0; i < 6; ++i) staged.data()[i] = pattern(i, 4);
  ASSERT_TRUE(staged.copy_up(6).is_ok());
  for (std::size_t i = 0; i < 64; ++i) {
    const std::byte expected = i >= 10 && i < 12 ? pattern(i - 10, 4) : i >= 40 && i < 44 ? pattern(i - 38, 4) : kGap;
    EXPECT_EQ(fake.alias(memory)[i], expected) << i;
  }
}

// One run, as addresses go, over two allocations that lie side by side: a copy for each. Behind the second there is
// nothing.
TEST_F(Staging, WithANullOrigin_CopiesEachAllocationAlone) {
  constexpr std::size_t kSize = 256;
  std::byte *low = fake.allocate(SLUICE_MEMORY_DEVICE, kSize, 0, kGap);
  const std::byte *high = fake.allocate(SLUICE_MEMORY_DEVICE, kSize, 0, kGap);
  ASSERT_EQ(low + kSize, high);
  const auto base = reinterpret_cast<std::intptr_t>(low);
  const auto layout_of = [](std::int64_t offset, std::uint64_t size) {
    auto layout = std::make_shared<Layout>();
    layout->size_bytes = size;
    layout->is_contiguous = false;
    layout->blocks = {{offset, size}};
    return layout;
  };
  for (std::size_t i = 0; i < 300; ++i) fake.alias(low)[100 + i] = pattern(i, 5);
  const Staged staged = opened({nullptr, 1, layout_of(base + 100, 300), place()});
  ASSERT_TRUE(staged.copy_down().is_ok());
  for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(staged.data()[i], pattern(i, 5)) << i;
  EXPECT_EQ(fake.longest_batch(), 2U);
  const Staged outside = opened({nullptr, 1, layout_of(base + 300, 213), place()});
  const Status status = outside.copy_down();
  EXPECT_EQ(status.kind(), ErrorKind::kBadBuffer);
  EXPECT_THAT(status.message(), HasSubstr("over the end of an allocation"));
}

TEST_F(Staging, WithMoreBlocksThanABatch_IsExact) {
  constexpr std::int64_t kCount = 3000;  // 9000 blocks: two whole batches and a rest
  const Region r = region(scattered(), kCount, kCount * 16);
  EXPECT_TRUE(comes_down(r));
  EXPECT_EQ(fake.calls(Call::kEnqueueCopies), 3);
  EXPECT_EQ(fake.longest_batch(), 4096U);
  // Short messages that end before, at and behind the ends of batches, and within a block.
  for (const std::uint64_t size : {13652U, 13653U, 13654U, 13660U, 27306U, 27307U, 29999U, 30000U}) {
    EXPECT_TRUE(goes_up(r, size)) << size;
  }
}

TEST_F(Staging, WithExactlyABatchOfBlocks_EndsThere) {
  auto layout = std::make_shared<Layout>();
  layout->size_bytes = 2;
  layout->extent_bytes = 6;
  layout->is_contiguous = false;
  layout->blocks = {{0, 1}, {3, 1}};
  const Region r = region(layout, 2048, 2048 * 6);
  EXPECT_TRUE(comes_down(r));
  EXPECT_EQ(fake.calls(Call::kEnqueueCopies), 1);
  EXPECT_TRUE(goes_up(r, 4096));
}

// The checks above must be able to fail.
TEST_F(Staging, IsSeenToBeWrong_WhenTheBackendDropsAByte) {
  fake.drop_last_byte();
  EXPECT_FALSE(comes_down(region(contiguous(1), 100, 100)));
  EXPECT_FALSE(goes_up(region(contiguous(1), 100, 100), 100));
  EXPECT_FALSE(comes_down(region(scattered(), 3, 48)));
  EXPECT_FALSE(goes_up(region(scattered(), 3, 48), 30));
}

TEST_F(Staging, WorksInEveryStagingMemory) {
  const Region r = region(scattered(), 7, 112);
  for (const StagingMemory memory :
       {StagingMemory::kMalloc, StagingMemory::kAligned, StagingMemory::kRuntime, StagingMemory::kRuntimeAligned}) {
    for (std::size_t i = 0; i < 112; ++i) fake.alias(memory_)[i] = pattern(i, 5);
    const Staged staged = opened(r, memory);
    ASSERT_TRUE(staged.copy_down().is_ok());
    const std::vector<std::int64_t> where = offsets(*r.layout, r.count);
    for (std::size_t i = 0; i < where.size(); ++i) {
      EXPECT_EQ(staged.data()[i], pattern(static_cast<std::size_t>(where[i]), 5)) << name(memory) << " byte " << i;
    }
  }
}

TEST_F(Staging, IsRefused_WhenTheMemoryWasFreed) {
  Region r = region(contiguous(8), 4, 32);
  fake.free(memory_);
  ASSERT_TRUE(device::classify(r.origin, &r.place).is_ok());
  Staged staged;
  const Status status = staged.open(r, StagingMemory::kMalloc);
  EXPECT_EQ(status.kind(), ErrorKind::kBadBuffer);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("fake0"), HasSubstr("freed"), HasSubstr("keep it allocated")));
  EXPECT_FALSE(staged.is_open());
}

TEST_F(Staging, Fails_WithTheNativeText_WhenACopyFails) {
  const Region plain = region(contiguous(8), 4, 32);
  fake.fail(Call::kCopy, SLUICE_ERROR_NATIVE, "FAKE_DOWN");
  EXPECT_THAT(opened(plain).copy_down().message(), HasSubstr("FAKE_DOWN"));
  fake.fail(Call::kCopy, SLUICE_ERROR_NATIVE, "FAKE_UP");
  EXPECT_THAT(opened(plain).copy_up(32).message(), HasSubstr("FAKE_UP"));
  const Region gaps = region(scattered(), 3000, 48000);
  fake.fail(Call::kWaitTicket, SLUICE_ERROR_NATIVE, "FAKE_SECOND_BATCH", 1, 1);
  EXPECT_THAT(opened(gaps).copy_down().message(), HasSubstr("FAKE_SECOND_BATCH"));
  EXPECT_EQ(fake.calls(Call::kWaitTicket), 2) << "went on after a failed batch";
}

TEST_F(Staging, GivesItsMemoryBack) {
  const Region r = region(contiguous(1), 5000, 5000);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(goes_up(r, 5000));
  EXPECT_EQ(fake.calls(Call::kHostAlloc), 1) << "the pool's block was not used again";
}

}  // namespace
}  // namespace sluice::transfer::staged_test
