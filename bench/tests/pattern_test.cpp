// SPDX-License-Identifier: BSD-3-Clause
// Proof that the check of a message sees what it must: every flipped byte, and data from another place, time or sender.
#include "bench/memory/pattern.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace sluice::bench::pattern_test {
namespace {

constexpr std::size_t kSize = 301;  // not a multiple of the word

std::vector<std::byte> message(const Pattern &pattern, std::size_t size = kSize) {
  std::vector<std::byte> bytes(size);
  pattern.fill(bytes);
  return bytes;
}

TEST(Pattern, FindsNothing_WhenAllBytesAreRight) {
  for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 4096U}) {
    const Pattern pattern(1, 5, 2);
    EXPECT_EQ(pattern.find_mismatch(message(pattern, size)), std::nullopt) << size;
  }
}

TEST(Pattern, FindsEveryFlip_WhenOneByteIsWrong) {
  const Pattern pattern(0, 3, 1);
  std::vector<std::byte> bytes = message(pattern);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned flip = 1; flip < 256; ++flip) {
      bytes[i] ^= std::byte(flip);
      ASSERT_EQ(pattern.find_mismatch(bytes), i) << "flip " << flip;
      bytes[i] ^= std::byte(flip);
    }
  }
}

TEST(Pattern, AgreesWithAt_AtEveryPosition) {
  const Pattern pattern(1, 77, 12);
  const std::vector<std::byte> bytes = message(pattern);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(bytes[i], pattern.at(i)) << i;
  }
}

TEST(Pattern, PoisonDiffersInEveryByte) {
  const Pattern pattern(1, 8, 0);
  std::vector<std::byte> poisoned(kSize);
  pattern.poison(poisoned);
  for (std::size_t i = 0; i < poisoned.size(); ++i) {
    ASSERT_NE(poisoned[i], pattern.at(i)) << i;
  }
}

TEST(Pattern, DiffersAtOnce_WhenIterationOrRankDiffers) {
  for (std::uint64_t iteration = 1; iteration < 256; ++iteration) {
    const Pattern earlier(0, 0, 0);
    ASSERT_EQ(Pattern(0, iteration, 0).find_mismatch(message(earlier, 1)), 0U) << iteration;
  }
  for (std::uint64_t iteration = 0; iteration < 1000; ++iteration) {
    ASSERT_EQ(Pattern(0, iteration, 0).find_mismatch(message(Pattern(1, iteration, 0), 1)), 0U) << iteration;
  }
}

TEST(Pattern, DiffersSoon_WhenDataIsShiftedOrFromAnotherMessage) {
  const Pattern pattern(0, 2, 3);
  const std::vector<std::byte> bytes = message(pattern);
  for (std::size_t shift = 1; shift <= 64; ++shift) {
    std::vector<std::byte> shifted(bytes);
    std::rotate(shifted.begin(), shifted.begin() + static_cast<std::ptrdiff_t>(shift), shifted.end());
    const auto found = pattern.find_mismatch(shifted);
    ASSERT_TRUE(found.has_value() && *found < 8) << shift;
  }
  for (std::uint64_t other = 4; other < 300; ++other) {
    const auto found = Pattern(0, 2, other).find_mismatch(bytes);
    ASSERT_TRUE(found.has_value() && *found < 8) << other;
  }
}

}  // namespace
}  // namespace sluice::bench::pattern_test
