// SPDX-License-Identifier: BSD-3-Clause
// Where the bytes of messages with gaps lie, the checks of them, and packing by hand, on the stub module.
#include "bench/memory/message_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/memory/message_buffer.hpp"
#include "bench/memory/packer.hpp"

namespace sluice::bench::message_layout_test {
namespace {

constexpr TypeKind kAll[] = {TypeKind::contiguous, TypeKind::vector, TypeKind::subarray, TypeKind::hindexed,
                             TypeKind::structure};

DerivedType of_kind(TypeKind kind) {
  return {.kind = kind};
}

TEST(MessageLayout, HoldsEveryByteOnce_WhateverTheKind) {
  for (const TypeKind kind : kAll) {
    for (const std::uint64_t size : {1U, 7U, 64U, 128U, 192U, 64U * 9}) {
      const MessageLayout layout = layout_of(of_kind(kind), size);
      std::vector<int> uses(layout.extent_bytes);
      std::uint64_t n_bytes = 0;
      for (const Piece &piece : layout.pieces) {
        ASSERT_LE(piece.offset + piece.size_bytes, layout.extent_bytes);
        n_bytes += piece.size_bytes;
        for (std::uint64_t i = 0; i < piece.size_bytes; ++i) ++uses[piece.offset + i];
      }
      EXPECT_EQ(n_bytes, size) << word_of(kind);
      EXPECT_EQ(*std::max_element(uses.begin(), uses.end()), 1) << word_of(kind);
    }
    EXPECT_TRUE(layout_of(of_kind(kind), 0).pieces.empty());
  }
}

TEST(MessageLayout, TravelsInAnotherOrderThanItLies_WhenItsOffsetsSaySo) {
  const std::vector<Piece> pieces = layout_of(of_kind(TypeKind::hindexed), 128).pieces;
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_GT(pieces[0].offset, pieces[1].offset);
}

TEST(MessageLayout, ReachesBeyond32Bits) {
  const MessageLayout layout = layout_of({TypeKind::vector, std::uint64_t{1} << 30, 64}, 64 * 5);
  EXPECT_EQ(layout.pieces.back().offset, std::uint64_t{1} << 32);
}

TEST(MessageBuffer, SeesEveryByte_OfMessageAndGaps) {
  std::vector<std::byte> scratch;
  for (const TypeKind kind : kAll) {
    MessageBuffer buffer(nullptr, SLUICE_MEMORY_HOST, layout_of(of_kind(kind), 192));
    const Pattern pattern(1, 0, 0);
    buffer.fill(pattern, scratch);
    ASSERT_FALSE(buffer.verify(pattern, scratch).has_value());
    for (std::uint64_t offset = 0; offset < buffer.extent_bytes(); ++offset) {
      std::byte &byte = buffer.data()[offset];
      byte ^= std::byte{0x10};
      const auto wrong = buffer.verify(pattern, scratch);
      ASSERT_TRUE(wrong.has_value()) << word_of(kind) << " offset " << offset;
      if (wrong->is_guard) {
        ASSERT_EQ(wrong->offset, static_cast<std::int64_t>(offset));
      }
      byte ^= std::byte{0x10};
    }
  }
}

TEST(MessageBuffer, LeavesMemoryFarFromTheMessageAlone) {
  std::vector<std::byte> scratch;
  const DerivedType far{TypeKind::vector, std::uint64_t{1} << 30, 8};
  MessageBuffer buffer(nullptr, SLUICE_MEMORY_HOST, layout_of(far, 24));
  const Pattern pattern(0, 0, 0);
  buffer.fill(pattern, scratch);
  EXPECT_FALSE(buffer.verify(pattern, scratch).has_value());
  buffer.data()[(std::uint64_t{1} << 30) + 8] ^= std::byte{1};
  const auto wrong = buffer.verify(pattern, scratch);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_NE(describe(*wrong, buffer.extent_bytes()).find("offset 1073741832 (between the blocks)"), std::string::npos);
}

TEST(Packer, MovesEachByteToItsPlaceAndBack) {
  DeviceModule module(SLUICE_BENCH_STUB_DIR, "stub");
  module.select(0);
  std::vector<std::byte> scratch;
  struct Case {
    sluice_memory_kind_t memory;
    PackWay wanted;
    const char *way;
  };
  constexpr Case kCases[] = {{SLUICE_MEMORY_HOST, PackWay::either, "cpu"},
                             {SLUICE_MEMORY_DEVICE, PackWay::either, "kernel"},
                             {SLUICE_MEMORY_DEVICE, PackWay::kernel, "kernel"},
                             {SLUICE_MEMORY_DEVICE, PackWay::copies, "copies"}};
  for (const auto &[memory, wanted, way] : kCases) {
    for (const TypeKind kind : kAll) {
      // One block, an even and an odd number of them: those of hindexed come in twos.
      for (const std::uint64_t size : {24U, 512U, 576U}) {
        const MessageLayout layout = layout_of(of_kind(kind), size);
        MessageBuffer from(&module, memory, layout);
        MessageBuffer to(&module, memory, layout);
        const Pattern pattern(1, 2, 3);
        from.fill(pattern, scratch);
        to.poison(pattern, scratch);
        Packer packer(&module, memory, layout, wanted);
        std::vector<std::byte> packed(layout.size_bytes);
        packer.pack(packed.data(), from.data());
        EXPECT_EQ(pattern.find_error(packed), "") << word_of(kind) << " of " << size << " by " << way;
        packer.unpack(to.data(), packed.data());
        EXPECT_FALSE(to.verify(pattern, scratch).has_value()) << word_of(kind) << " of " << size << " by " << way;
        EXPECT_STREQ(packer.way(), way);
      }
    }
  }
}

TEST(PackShape, IsARunOrTwoPiecesThatRepeat) {
  const auto shape = [](TypeKind kind, std::uint64_t size) {
    const MessageLayout layout = layout_of(of_kind(kind), size);
    return *shape_of(layout.pieces);
  };
  EXPECT_TRUE(shape(TypeKind::vector, 576).list.empty());
  EXPECT_EQ(shape(TypeKind::vector, 576).layout.dimensions[0].count, 9U);
  EXPECT_EQ(shape(TypeKind::hindexed, 512).layout.n_blocks, 2U);
  EXPECT_EQ(shape(TypeKind::hindexed, 512).layout.dimensions[0].stride_bytes, 256);
  EXPECT_EQ(shape(TypeKind::hindexed, 576).layout.n_blocks, 9U);
}

}  // namespace
}  // namespace sluice::bench::message_layout_test
