// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/layout_code.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>

namespace sluice::transfer::layout_code_test {
namespace {

sluice_layout_t layout_of(std::uint64_t core_bytes, std::initializer_list<sluice_dimension_t> dimensions) {
  sluice_layout_t layout{};
  layout.core_bytes = core_bytes;
  layout.n_dimensions = static_cast<std::uint32_t>(dimensions.size());
  std::copy(dimensions.begin(), dimensions.end(), layout.dimensions);
  return layout;
}

bool is_same(const sluice_layout_t &a, const sluice_layout_t &b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

TEST(LayoutCode, SaysNestedStrides) {
  for (const sluice_layout_t &layout :
       {layout_of(8, {{500, 24}}), layout_of(1, {{1, 0}}), layout_of(4, {{7, -64}}), layout_of(4096, {{512, 1 << 21}}),
        layout_of(16, {{16384, 1 << 20}, {512, -(1 << 18)}, {16000, 4096}}),
        layout_of(1, {{2, 1000}, {2, 200}, {2, 40}, {2, 10}, {2, 3}, {2, 1}}),
        layout_of(std::uint64_t{1} << 40, {{3, std::numeric_limits<std::int64_t>::min()}})}) {
    LayoutCode code;
    ASSERT_TRUE(encode(layout, &code));
    EXPECT_FALSE(is_one_run(code));
    sluice_layout_t decoded;
    ASSERT_TRUE(decode(code, &decoded));
    EXPECT_TRUE(is_same(layout, decoded));
  }
}

TEST(LayoutCode, IsOneRun_WhereThereIsNoRoom) {
  LayoutCode code;
  EXPECT_FALSE(encode(layout_of(8, {{1 << 20, 1 << 25}, {1 << 20, 1 << 25}, {1 << 20, 1 << 25}, {2, 9}}), &code));
  EXPECT_TRUE(is_one_run(code));
  EXPECT_EQ(code, LayoutCode{});
  EXPECT_FALSE(encode(layout_of(8, {}), &code));
  sluice_layout_t list = layout_of(8, {{2, 16}});
  list.n_blocks = 2;
  EXPECT_FALSE(encode(list, &code));
}

TEST(LayoutCode, IsRefused_WhenNobodyWroteIt) {
  sluice_layout_t layout;
  EXPECT_FALSE(decode({}, &layout));
  EXPECT_FALSE(decode({7, 1, 1, 1}, &layout));  // too many dimensions
  EXPECT_FALSE(decode({1, 0, 2, 8}, &layout));  // no core
  EXPECT_FALSE(decode({1, 8, 0, 8}, &layout));  // no pieces
  EXPECT_FALSE(decode({2, 8, 2, 8}, &layout));  // no pieces, of the second
  LayoutCode endless;
  endless.fill(0xff);
  endless[0] = 1;
  EXPECT_FALSE(decode(endless, &layout));
  LayoutCode too_long{1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 1, 1};  // 2^64
  EXPECT_FALSE(decode(too_long, &layout));
  std::mt19937 dice(7);
  for (int k = 0; k < 20'000; ++k) {  // nothing that comes out is out of bounds
    LayoutCode code;
    for (std::uint8_t &byte : code) byte = static_cast<std::uint8_t>(dice() % (k % 2 == 0 ? 256 : 140));
    code[0] %= 8;
    Reach reach;
    if (!decode(code, &layout) || !reach_of(layout, &reach)) continue;
    ASSERT_LE(layout.n_dimensions, SLUICE_PACK_MAX_DIMENSIONS);
    ASSERT_GE(reach.span_bytes, layout.core_bytes);
    ASSERT_GE(reach.payload_bytes, layout.core_bytes);
    ASSERT_LE(reach.lowest_bytes, 0);
  }
}

TEST(LayoutReach, IsFromTheLowestByteToTheHighest) {
  Reach reach;
  ASSERT_TRUE(reach_of(layout_of(8, {{500, 24}}), &reach));
  EXPECT_EQ(reach.lowest_bytes, 0);
  EXPECT_EQ(reach.span_bytes, 499U * 24 + 8);
  EXPECT_EQ(reach.payload_bytes, 4000U);
  ASSERT_TRUE(reach_of(layout_of(4, {{3, 100}, {5, -20}}), &reach));
  EXPECT_EQ(reach.lowest_bytes, -80);
  EXPECT_EQ(reach.span_bytes, 80U + 200 + 4);
  EXPECT_EQ(reach.payload_bytes, 60U);
  constexpr std::int64_t kFar = std::int64_t{1} << 61;
  EXPECT_FALSE(reach_of(layout_of(8, {{4, kFar}}), &reach));
  EXPECT_FALSE(reach_of(layout_of(8, {{2, kFar}, {2, -kFar}, {2, 2 * (kFar - 1)}}), &reach));
  EXPECT_FALSE(reach_of(layout_of(1, {{std::uint64_t{1} << 33, 0}, {std::uint64_t{1} << 33, 0}}), &reach));
  EXPECT_FALSE(reach_of(layout_of(8, {{std::numeric_limits<std::uint64_t>::max(), 1}}), &reach));
}

}  // namespace
}  // namespace sluice::transfer::layout_code_test
