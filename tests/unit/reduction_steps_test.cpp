// SPDX-License-Identifier: BSD-3-Clause
// Reductions of many arrays made of kernels of few, carried out here by a plain loop that keeps the order.
#include "transfer/reduction_steps.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::transfer::reduction_steps_test {
namespace {

constexpr std::size_t kMost = 4;

// Arrays of one element each, whose reduction is to write them one behind the other.
void run(const std::vector<ReductionStep> &steps) {
  for (const ReductionStep &step : steps) {
    ASSERT_LE(step.sources.size(), kMost);
    ASSERT_LE(step.dsts.size(), kMost);
    std::string result;
    for (const void *source : step.sources) result += *static_cast<const std::string *>(source);
    for (void *dst : step.dsts) *static_cast<std::string *>(dst) = result;
  }
}

std::string letters(std::size_t n) {
  return std::string("abcdefghijklmnopqrst").substr(0, n);
}

TEST(ReductionSteps, PutAllInTheirOrderEverywhere) {
  for (std::size_t n_sources = 1; n_sources <= 14; ++n_sources) {
    for (std::size_t n_dsts = 1; n_dsts <= 11; ++n_dsts) {
      std::vector<std::string> inputs;
      std::vector<std::string> results(n_dsts);
      for (const char letter : letters(n_sources)) inputs.emplace_back(1, letter);
      std::vector<const void *> sources;
      std::vector<void *> dsts;
      for (const std::string &input : inputs) sources.push_back(&input);
      for (std::string &result : results) dsts.push_back(&result);
      std::vector<ReductionStep> steps;
      add_reduction(sources, dsts, 1, kMost, &steps);
      run(steps);
      for (const std::string &result : results) EXPECT_EQ(result, letters(n_sources)) << n_dsts;
    }
  }
}

TEST(ReductionSteps, WriteOverInputs_OnceTheyAreRead) {
  for (std::size_t n = 1; n <= 14; ++n) {
    std::vector<std::string> arrays;
    for (const char letter : letters(n)) arrays.emplace_back(1, letter);
    std::vector<const void *> sources;
    std::vector<void *> dsts;
    for (std::string &array : arrays) {
      sources.push_back(&array);
      dsts.push_back(&array);
    }
    std::vector<ReductionStep> steps;
    add_reduction(sources, dsts, 1, kMost, &steps);
    run(steps);
    for (const std::string &array : arrays) EXPECT_EQ(array, letters(n));
  }
}

TEST(ReductionSteps, AreNone_WithoutElements) {
  int memory = 0;
  const void *const source = &memory;
  void *const dst = &memory;
  std::vector<ReductionStep> steps;
  add_reduction({&source, 1}, {&dst, 1}, 0, kMost, &steps);
  EXPECT_TRUE(steps.empty());
}

TEST(Shares, FollowEachOther_AndHoldAll) {
  for (const std::uint64_t count : {0ULL, 1ULL, 63ULL, 64ULL, 65ULL, 1000ULL, 1ULL << 40}) {
    for (const std::uint64_t element_bytes : {1U, 8U, 16U}) {
      for (const std::uint64_t n_shares : {1U, 2U, 3U, 16U, 256U}) {
        std::uint64_t next = 0;
        for (std::uint64_t index = 0; index < n_shares; ++index) {
          const Share share = share_of(count, element_bytes, n_shares, index);
          EXPECT_EQ(share.first, next);
          EXPECT_LE(share.first, share.last);
          EXPECT_TRUE(share.count() == 0 || share.first * element_bytes % 512 == 0);
          next = share.last;
        }
        EXPECT_EQ(next, count) << element_bytes << " " << n_shares;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::transfer::reduction_steps_test
