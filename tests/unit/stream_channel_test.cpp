// SPDX-License-Identifier: BSD-3-Clause
// Who carries a message of a channel: every reason for which the sender's stream does not, and the edges of its
// credits; and where in the receiver's memory it goes.
#include "plan/stream_channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace {

using sluice::plan::choose_slots;
using sluice::plan::choose_stream;
using sluice::plan::divide;
using sluice::plan::kMostStreamBytes;
using sluice::plan::SlotMemory;
using sluice::plan::StreamChannel;
using sluice::plan::StreamMessage;
using sluice::plan::UnitRing;

constexpr std::uint64_t kUnits = 16;
constexpr std::uint64_t kUnit = 256;
constexpr std::uint64_t kMost = kUnits * kUnit / 4;

StreamChannel channel() {
  return {.is_mapped = true, .first = 3, .sizes = {kUnit, kUnits}, .n_words = 8, .seen = 9};
}

bool is_by_stream(const StreamMessage &message, const StreamChannel &in, const UnitRing &ring = UnitRing(kUnits)) {
  const auto choice = choose_stream(message, in, ring);
  EXPECT_FALSE(choice.reason.empty());
  return choice.is_by_stream;
}

TEST(StreamChannel, BatchesThatFindRoom) {
  using sluice::plan::batches_with_room;
  constexpr sluice::plan::UnitSizes kSizes = {kUnit, kUnits};
  EXPECT_EQ(batches_with_room(0, kSizes), sluice::plan::kNoLimit);
  EXPECT_EQ(batches_with_room(1, kSizes), kUnits - 2);
  EXPECT_EQ(batches_with_room(kUnit, kSizes), kUnits - 2);
  EXPECT_EQ(batches_with_room(kUnit + 1, kSizes), kUnits / 2 - 2);
  EXPECT_EQ(batches_with_room(kMost, kSizes), 2U);
  EXPECT_EQ(batches_with_room(kMost + 1, kSizes), sluice::plan::kNoLimit) << "the stream does not carry it";
  EXPECT_EQ(batches_with_room(kUnit, {kUnit, 4}), 2U);
  EXPECT_EQ(batches_with_room(1, {kUnit, 4}), 2U);
}

TEST(StreamChannel, AClaimHasToFitTogether) {
  using sluice::plan::is_sound;
  using sluice::plan::SlotClaim;
  constexpr std::uint64_t kNumbers = 1000;
  constexpr std::uint64_t kAll = kUnit * kUnits;
  constexpr SlotClaim kGood = {3, {kUnit, kUnits}, false, 64, kAll + 64};
  constexpr SlotClaim kInHost = {3, {kUnit, kUnits}, true, 0, kAll};
  static_assert(is_sound(kGood, kNumbers) && is_sound(kInHost, kNumbers));
  constexpr std::uint64_t kLast = ~std::uint64_t{0};
  const auto with = [](SlotClaim claim, auto change) {
    change(&claim);
    return is_sound(claim, kNumbers);
  };
  EXPECT_FALSE(with(kGood, [](SlotClaim *claim) { claim->first = 0; }));
  EXPECT_FALSE(with(kGood, [](SlotClaim *claim) { claim->first = kNumbers + 1; }));
  EXPECT_FALSE(with(kGood, [](SlotClaim *claim) { claim->sizes.n_units = 0; }));
  EXPECT_FALSE(with(kGood, [](SlotClaim *claim) { claim->sizes.n_units = UnitRing::kMostUnits + 1; }));
  EXPECT_FALSE(with(kGood, [](SlotClaim *claim) { claim->sizes.unit_bytes = 0; }));
  EXPECT_FALSE(with(kGood, [](SlotClaim *claim) { claim->sizes.unit_bytes = kLast / kUnits + 1; }));
  EXPECT_FALSE(with(kGood, [](SlotClaim *claim) { claim->offset_bytes = 65; }));
  EXPECT_FALSE(with(kGood, [](SlotClaim *claim) { claim->offset_bytes = kLast; }));
  EXPECT_FALSE(with(kGood, [](SlotClaim *claim) { claim->allocation_bytes = kAll - 1; }));
  EXPECT_FALSE(with(kGood, [](SlotClaim *claim) { claim->allocation_bytes = kLast; })) << "whole pages of it are none";
  EXPECT_FALSE(with(kInHost, [](SlotClaim *claim) { claim->offset_bytes = 1; }));
  EXPECT_FALSE(with(kInHost, [](SlotClaim *claim) { claim->allocation_bytes += 1; }));
}

TEST(StreamChannel, AWordHasToNameWhatIsThere) {
  using sluice::plan::holds;
  constexpr sluice::plan::UnitSizes kSizes = {kUnit, kUnits};
  EXPECT_TRUE(holds(kSizes, 0, kUnit * kUnits));
  EXPECT_TRUE(holds(kSizes, kUnits - 1, kUnit));
  EXPECT_TRUE(holds(kSizes, 255, 0)) << "nothing is nowhere";
  EXPECT_FALSE(holds(kSizes, 0, kUnit * kUnits + 1));
  EXPECT_FALSE(holds(kSizes, kUnits - 1, kUnit + 1));
  EXPECT_FALSE(holds(kSizes, kUnits, 1));
  EXPECT_FALSE(holds(kSizes, 255, (1U << 24U) - 1));
}

TEST(StreamChannel, EachConditionCounts) {
  const StreamMessage good = {11, kMost, true};
  EXPECT_TRUE(is_by_stream(good, channel()));
  StreamChannel without = channel();
  without.is_mapped = false;
  EXPECT_FALSE(is_by_stream(good, without));
  EXPECT_FALSE(is_by_stream({11, kMost, false}, channel()));
  EXPECT_FALSE(is_by_stream({11, kMost + 1, true}, channel()));
  EXPECT_TRUE(is_by_stream({11, 0, true}, channel()));
}

TEST(StreamChannel, TheFirstIsTheReceivers) {
  StreamChannel early = channel();
  early.seen = 2;
  EXPECT_FALSE(is_by_stream({2, 8, true}, early));
  EXPECT_TRUE(is_by_stream({3, 8, true}, early));
}

TEST(StreamChannel, CreditsEndWhereWordsDo) {
  EXPECT_TRUE(is_by_stream({17, 8, true}, channel()));
  EXPECT_FALSE(is_by_stream({18, 8, true}, channel()));
}

TEST(StreamChannel, CreditsEndWhereUnitsDo) {
  UnitRing ring(kUnits);
  ring.give(10, 0, kUnits);
  EXPECT_FALSE(is_by_stream({11, 1, true}, channel(), ring));
  EXPECT_TRUE(is_by_stream({11, 0, true}, channel(), ring));
  ring.take_back(9);
  EXPECT_FALSE(is_by_stream({11, 1, true}, channel(), ring));
  ring.take_back(10);
  EXPECT_TRUE(is_by_stream({11, 1, true}, channel(), ring));
}

TEST(StreamChannel, RunsAreAsLongAsMessages) {
  UnitRing ring(kUnits);
  ring.give(10, 0, 5);
  const auto n_units = [&](std::uint64_t bytes) {
    const auto choice = choose_stream({11, bytes, true}, channel(), ring);
    EXPECT_EQ(choice.first_unit, bytes == 0 ? 0U : 5U);
    return choice.n_units;
  };
  EXPECT_EQ(n_units(0), 0U);
  EXPECT_EQ(n_units(1), 1U);
  EXPECT_EQ(n_units(kUnit), 1U);
  EXPECT_EQ(n_units(kUnit + 1), 2U);
  EXPECT_EQ(n_units(kMost), 4U);
}

TEST(UnitRing, GoesRound_AndPassesOverWhatIsTooShort) {
  UnitRing ring(10);
  EXPECT_EQ(ring.find(10), 0U);
  EXPECT_EQ(ring.find(11), 10U);
  ring.give(1, 0, 4);
  ring.give(2, ring.find(3), 3);
  EXPECT_EQ(ring.find(3), 7U);
  EXPECT_EQ(ring.find(4), 10U);  // none that goes on at the beginning, which is not free
  ring.take_back(1);
  EXPECT_EQ(ring.find(3), 7U);
  EXPECT_EQ(ring.find(4), 0U);
  EXPECT_EQ(ring.find(5), 10U);
  ring.give(3, 0, 4);  // up to the oldest: full, and not empty
  EXPECT_EQ(ring.find(1), 10U);
  ring.take_back(2);
  EXPECT_EQ(ring.find(6), 4U);
  EXPECT_EQ(ring.find(7), 10U);
  ring.take_back(3);
  EXPECT_EQ(ring.find(10), 0U);
}

// As many runs as there can be; one that was given twice, as when its start failed, holds up those behind it only.
TEST(UnitRing, HasRoomForARunOfEachUnit) {
  UnitRing ring(UnitRing::kMostUnits);
  for (std::uint64_t k = 0; k < UnitRing::kMostUnits; ++k) {
    ASSERT_EQ(ring.find(1), k);
    ring.give(k + 1, k, 1);
  }
  EXPECT_EQ(ring.find(1), UnitRing::kMostUnits);
  ring.take_back(2);
  EXPECT_EQ(ring.find(2), 0U);
  ring.give(UnitRing::kMostUnits, 0, 1);
  ring.give(3, 1, 1);
  ring.take_back(3);
  EXPECT_EQ(ring.find(1), 2U);
  ring.take_back(UnitRing::kMostUnits);
  EXPECT_EQ(ring.find(UnitRing::kMostUnits), 0U);
}

// Against units that are marked one by one: runs of any length and in any number, taken in their order.
TEST(UnitRing, GivesNothingTwice) {
  std::mt19937 random(7);
  for (const std::uint64_t n_units : {1U, 2U, 7U, 16U, 256U}) {
    struct Run {
      std::uint64_t first;
      std::uint64_t length;
    };
    UnitRing ring(n_units);
    std::vector<bool> is_used(n_units);
    std::deque<Run> runs;
    std::uint64_t taken = 0;
    std::uint64_t n_given = 0;
    for (int k = 0; k < 20000; ++k) {
      const std::uint64_t length = 1 + random() % std::max<std::uint64_t>(n_units / 4, 1);
      const std::uint64_t first = ring.find(length);
      if (first != n_units) {
        ASSERT_LE(first + length, n_units);
        for (std::uint64_t unit = first; unit < first + length; ++unit) {
          ASSERT_FALSE(is_used[unit]) << "unit " << unit << " of " << n_units;
          is_used[unit] = true;
        }
        runs.push_back({first, length});
        ring.give(taken + runs.size(), first, length);
        ++n_given;
      } else {
        ASSERT_FALSE(runs.empty()) << "no room in an empty ring";
      }
      if (random() % 3 != 0 || runs.empty()) continue;
      for (std::uint64_t n = 1 + random() % runs.size(); n != 0; --n) {
        const Run &run = runs.front();
        for (std::uint64_t unit = run.first; unit < run.first + run.length; ++unit) is_used[unit] = false;
        runs.pop_front();
        ++taken;
      }
      ring.take_back(taken);
    }
    EXPECT_GT(n_given, 5000U);
  }
}

// Wherever the device's memory can be exported, channels have that.
TEST(ChooseSlots, HostMemoryOnlyWithoutExport) {
  for (const bool has_ipc : {false, true}) {
    for (const bool is_never_exported : {false, true}) {
      for (const bool is_refused : {false, true}) {
        const auto choice = choose_slots({has_ipc, is_never_exported, is_refused});
        const bool can_be_exported = has_ipc && !is_never_exported && !is_refused;
        EXPECT_EQ(choice.memory == SlotMemory::kDevice, can_be_exported) << choice.reason;
        EXPECT_FALSE(choice.reason.empty());
      }
    }
  }
}

// What the knob allows, and odd lengths between: units lie in the memory, their numbers and lengths in the word.
TEST(UnitSizes, FitIntoMemoryAndWord) {
  for (const std::uint64_t size_bytes :
       {std::uint64_t{4096}, std::uint64_t{5000}, std::uint64_t{65535}, std::uint64_t{128} << 10U,
        std::uint64_t{8} << 20U, (std::uint64_t{8} << 20U) + 12345, std::uint64_t{1} << 30U}) {
    const auto sizes = divide(size_bytes);
    EXPECT_GE(sizes.n_units, 16U);
    EXPECT_LE(sizes.n_units, UnitRing::kMostUnits);
    EXPECT_LE(sizes.n_units * sizes.unit_bytes, size_bytes);
    EXPECT_GE(2 * sizes.n_units * sizes.unit_bytes, size_bytes);
    EXPECT_EQ(sizes.unit_bytes % 256, 0U);
    EXPECT_LE(sizes.most_bytes(), kMostStreamBytes);
    EXPECT_LE(4 * sizes.most_bytes(), size_bytes);
  }
  EXPECT_EQ(divide(std::uint64_t{8} << 20U).most_bytes(), std::uint64_t{2} << 20U);
  EXPECT_EQ(divide(std::uint64_t{8} << 20U).n_units, 256U);
  EXPECT_EQ(divide(std::uint64_t{1} << 30U).most_bytes(), kMostStreamBytes);
}

}  // namespace
