// SPDX-License-Identifier: BSD-3-Clause
#include "base/recycled.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace sluice::recycled_test {
namespace {

TEST(Recycled, WhatOneLeft_IsTheNextOnes) {
  RecycledBlocks blocks(2000);
  void *const first = blocks.take();
  void *const second = blocks.take();
  EXPECT_NE(first, second);
  blocks.give(first);
  EXPECT_EQ(blocks.take(), first);
  for (void *block : {first, second}) ::operator delete(block, std::size_t{2000});
}

TEST(Recycled, NoTwoHaveTheSame_HoweverManyThereAre) {
  constexpr std::size_t kMany = 2 * RecycledBlocks::kMost + 1;
  RecycledBlocks blocks(64);
  for (int round = 0; round < 2; ++round) {
    std::vector<void *> taken;
    for (std::size_t i = 0; i < kMany; ++i) taken.push_back(blocks.take());
    EXPECT_EQ(std::set<void *>(taken.begin(), taken.end()).size(), kMany);
    for (void *block : taken) blocks.give(block);
  }
  for (std::size_t i = 0; i < RecycledBlocks::kMost; ++i) ::operator delete(blocks.take(), std::size_t{64});
}

TEST(Recycled, Objects_BeginAndEndAsOthers) {
  struct Counted {
    explicit Counted(int *n) : n_alive(n) { ++*n_alive; }
    ~Counted() { --*n_alive; }
    Counted(const Counted &) = delete;
    Counted &operator=(const Counted &) = delete;
    int *n_alive;
  };
  int n_alive = 0;
  for (int i = 0; i < 3; ++i) {
    const auto one = make_recycled<Counted>(&n_alive);
    const std::weak_ptr<Counted> seen = one;
    EXPECT_EQ(n_alive, 1);
    EXPECT_EQ(seen.lock(), one);
  }
  EXPECT_EQ(n_alive, 0);
}

}  // namespace
}  // namespace sluice::recycled_test
