// SPDX-License-Identifier: BSD-3-Clause
// The threads of the host's checks see what one thread sees, whatever their number.
#include "apps/fft3d/host_threads.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <condition_variable>
#include <latch>
#include <stdexcept>

namespace sluice::apps::fft3d {
namespace {

constexpr std::uint64_t kItems = 10 * HostThreads::kChunkItems + 7;
constexpr unsigned kCounts[] = {1, 2, 5, 40};

TEST(HostThreads, TakeEachItemOnce) {
  for (const unsigned n_threads : kCounts) {
    for (const std::uint64_t n_items : {std::uint64_t{0}, std::uint64_t{1}, HostThreads::kChunkItems, kItems}) {
      std::vector<int> n_times(n_items);
      HostThreads(n_threads).for_each(n_items, [&n_times](std::uint64_t item) { ++n_times[item]; });
      EXPECT_EQ(n_times, std::vector<int>(n_items, 1)) << n_threads << " threads";
    }
  }
}

// Each chunk waits until as many are under way as there are threads.
TEST(HostThreads, RunAtOnce) {
  constexpr unsigned kThreads = 3;
  std::mutex mutex;
  std::condition_variable arrived;
  unsigned n_arrived = 0;
  HostThreads(kThreads).for_chunks(kThreads, 1, [&](std::uint64_t, std::uint64_t) {
    std::unique_lock lock(mutex);
    ++n_arrived;
    arrived.notify_all();
    arrived.wait(lock, [&n_arrived] { return n_arrived == kThreads; });
  });
  EXPECT_EQ(n_arrived, kThreads);
}

TEST(HostThreads, SeeAFaultWhereverItIs) {
  for (const unsigned n_threads : kCounts) {
    for (const std::uint64_t wrong : {std::uint64_t{0}, kItems / 2, kItems - 1}) {
      const std::string found = HostThreads(n_threads).first_fault(
          kItems, [wrong](std::uint64_t item) { return item == wrong ? std::to_string(item) : std::string(); });
      EXPECT_EQ(found, std::to_string(wrong)) << n_threads << " threads";
    }
  }
}

TEST(HostThreads, TellTheFirstOfSeveralFaults) {
  const std::uint64_t first = 3 * HostThreads::kChunkItems - 1;
  for (const unsigned n_threads : kCounts) {
    const std::string found = HostThreads(n_threads).first_fault(
        kItems, [first](std::uint64_t item) { return item >= first ? std::to_string(item) : std::string(); });
    EXPECT_EQ(found, std::to_string(first)) << n_threads << " threads";
  }
}

// Both are looked at when either is found, and the later one is told last nearly always.
TEST(HostThreads, TellTheFirstOfFaultsFoundAtOnce) {
  constexpr int kTries = 50;
  const HostThreads threads(2);
  for (int i = 0; i < kTries; ++i) {
    std::latch later_is_looked_at(1);
    std::latch first_is_found(1);
    const std::string found = threads.first_fault(2 * HostThreads::kChunkItems, [&](std::uint64_t item) {
      if (item == 0) {
        later_is_looked_at.wait();
        first_is_found.count_down();
        return std::string("first");
      }
      if (item != HostThreads::kChunkItems) return std::string();
      later_is_looked_at.count_down();
      first_is_found.wait();
      return std::string("later");
    });
    ASSERT_EQ(found, "first");
  }
}

TEST(HostThreads, CollectInOrder) {
  const auto work = [](std::uint64_t begin, std::uint64_t end) { return std::make_pair(begin, end); };
  const auto one = HostThreads(1).collect<std::pair<std::uint64_t, std::uint64_t>>(100, 7, work);
  ASSERT_EQ(one.size(), 15U);
  EXPECT_EQ(one.back(), std::make_pair(std::uint64_t{98}, std::uint64_t{100}));
  for (const unsigned n_threads : kCounts) {
    EXPECT_EQ((HostThreads(n_threads).collect<std::pair<std::uint64_t, std::uint64_t>>(100, 7, work)), one);
  }
}

// The first chunk ends behind the second, which has been put away when the third begins.
TEST(HostThreads, CollectInOrderWhereTheFirstIsLate) {
  std::latch third(1);
  const auto work = [&third](std::uint64_t begin, std::uint64_t) {
    if (begin == 0) third.wait();
    if (begin == 2) third.count_down();
    return begin;
  };
  EXPECT_EQ(HostThreads(2).collect<std::uint64_t>(3, 1, work), (std::vector<std::uint64_t>{0, 1, 2}));
}

TEST(HostThreads, PassOnWhatIsThrown) {
  for (const unsigned n_threads : kCounts) {
    const auto work = [](std::uint64_t item) {
      if (item == kItems - 1) throw std::runtime_error("the last");
    };
    EXPECT_THROW(HostThreads(n_threads).for_each(kItems, work), std::runtime_error) << n_threads << " threads";
  }
}

TEST(HostThreads, SumSquaresToTheSameBits) {
  Values values(kItems);
  for (std::uint64_t item = 0; item < kItems; ++item) {
    values[item] = {1.0 / (1.0 + static_cast<double>(item)), static_cast<double>(item % 1000) * 0.1};
  }
  const double expected = square_sum(HostThreads(1), values);
  for (const unsigned n_threads : kCounts) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(square_sum(HostThreads(n_threads), values)),
              std::bit_cast<std::uint64_t>(expected))
        << n_threads << " threads";
  }
}

// Ones beside 2^60, whose neighbours are 256 apart: each alone is lost, inside a chunk and between chunks.
TEST(HostThreads, LoseNothingOfSmallSquares) {
  Values values(kItems, Complex(1, 0));
  values[0] = {1073741824.0, 0};
  values[4 * HostThreads::kChunkItems] = {1073741824.0, 0};
  const double expected = 0x1p60 * 2 + (kItems - 2);
  EXPECT_EQ(square_sum(HostThreads(2), values), expected);
}

TEST(HostThreads, ShareCoresFairly) {
  EXPECT_EQ(fair_threads({1, 1, 1, 1}, {1, 1, 1, 1}), 4U);  // alone
  EXPECT_EQ(fair_threads({1, 1, 0, 0}, {1, 1, 1, 1}), 2U);  // bound
  EXPECT_EQ(fair_threads({1, 1, 1, 1}, {2, 2, 2, 2}), 2U);  // two ranks, not bound
  EXPECT_EQ(fair_threads({1, 1, 1, 1, 1, 1}, {3, 3, 3, 3, 3, 3}), 2U);
  EXPECT_EQ(fair_threads({1, 1, 1, 1}, {3, 3, 3, 3}), 1U);
  EXPECT_EQ(fair_threads({1, 0}, {8, 0}), 1U);              // more ranks than cores
  EXPECT_EQ(fair_threads({1, 1, 1, 0}, {1, 1, 2, 1}), 2U);  // one of three is shared
  EXPECT_EQ(fair_threads({}, {}), 1U);                      // not known
}

}  // namespace
}  // namespace sluice::apps::fft3d
