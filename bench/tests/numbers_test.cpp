// SPDX-License-Identifier: BSD-3-Clause
// Proof that the check of a reduction sees what it must, and that its expected results are right.
#include "bench/memory/numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace sluice::bench::numbers_test {
namespace {

constexpr std::array kTypes{ElementType::bytes, ElementType::int32, ElementType::int64, ElementType::float32,
                            ElementType::float64};
constexpr int kRanks = 5;
constexpr std::size_t kElements = 40;

std::vector<std::byte> filled(const Numbers &numbers, ElementType type) {
  std::vector<std::byte> bytes(kElements * element_bytes(type));
  numbers.fill(bytes, 3);
  return bytes;
}

TEST(Numbers, FindEveryFlippedBit) {
  for (const ElementType type : kTypes) {
    const Numbers numbers(type, Operation::sum, {0, kRanks, kRanks}, 2);
    std::vector<std::byte> bytes = filled(numbers, type);
    EXPECT_EQ(numbers.find_error(bytes, 3), "");
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        bytes[i] ^= std::byte(1U << bit);
        ASSERT_NE(numbers.find_error(bytes, 3), "") << word_of(type) << " byte " << i << " bit " << bit;
        bytes[i] ^= std::byte(1U << bit);
      }
    }
  }
}

TEST(Numbers, AreTheReductionOfTheRanksNumbers) {
  for (const ElementType type : kTypes) {
    for (std::uint64_t element = 0; element < kElements; ++element) {
      std::int64_t sum = 0;
      std::vector<std::int64_t> values;
      for (int rank = 1; rank < kRanks; ++rank) {
        values.push_back(Numbers(type, Operation::sum, {rank, 1, kRanks}, 7).at(element));
        sum += values.back();
      }
      const Contributors ranks{1, kRanks - 1, kRanks};
      EXPECT_EQ(Numbers(type, Operation::sum, ranks, 7).at(element), sum);
      EXPECT_EQ(Numbers(type, Operation::max, ranks, 7).at(element), *std::max_element(values.begin(), values.end()));
      EXPECT_EQ(Numbers(type, Operation::min, ranks, 7).at(element), *std::min_element(values.begin(), values.end()));
    }
  }
}

TEST(Numbers, DifferAtOnce_WhenIterationRanksOrPlaceDiffer) {
  for (const ElementType type : kTypes) {
    const Contributors all{0, kRanks, kRanks};
    const std::vector<std::byte> bytes = filled(Numbers(type, Operation::sum, all, 4), type);
    for (std::uint64_t other = 5; other < 40; ++other) {
      EXPECT_NE(Numbers(type, Operation::sum, all, other).find_error(bytes, 3), "") << other;
    }
    EXPECT_NE(Numbers(type, Operation::sum, {0, kRanks - 1, kRanks}, 4).find_error(bytes, 3), "");
    EXPECT_NE(Numbers(type, Operation::max, all, 4).find_error(bytes, 3), "");
    EXPECT_NE(Numbers(type, Operation::sum, all, 4).find_error(bytes, 4), "");
  }
}

TEST(Numbers, PoisonDiffersInEveryByte) {
  for (const ElementType type : kTypes) {
    const Numbers numbers(type, Operation::max, {0, kRanks, kRanks}, 1);
    const std::vector<std::byte> right = filled(numbers, type);
    std::vector<std::byte> poisoned(right.size());
    numbers.poison(poisoned, 3);
    for (std::size_t i = 0; i < right.size(); ++i) {
      ASSERT_NE(right[i], poisoned[i]) << i;
    }
  }
}

}  // namespace
}  // namespace sluice::bench::numbers_test
