// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <string>

#include "plan/gather.hpp"
#include "plan/packing.hpp"

namespace sluice::plan::plan_packing_test {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr PackLimits kModel{PackUse::kByModel};
constexpr PackLimits kNoKernel{PackUse::kCopies};
constexpr PackLimits kForced{PackUse::kKernel};

// Runs of one length, as far from each other as they are long.
RunSummary even(std::uint64_t n_runs, std::uint64_t run_bytes) {
  return {n_runs * run_bytes, n_runs, run_bytes, run_bytes, (2 * n_runs - 1) * run_bytes};
}

PackPlan plan_of(const RunSummary &runs, PackLeg leg, const PackLimits &limits, bool can_gather = true) {
  return choose_packing({runs, leg, MemoryKind::kDevice, can_gather}, limits);
}

struct Row {
  RunSummary runs;
  PackLeg leg;
  PackLimits limits;
  bool can_gather;
  PackMeans means;
};

TEST(Packing, ChoosesTheFastestWay) {
  const Row rows[] = {
      // Staged: a kernel from four short runs on, copies where each run keeps the link busy while the next is begun.
      {even(3, 8), PackLeg::kStaging, kModel, true, PackMeans::kCopies},
      {even(4, 8), PackLeg::kStaging, kModel, true, PackMeans::kKernel},
      {even(16384, 64), PackLeg::kStaging, kModel, true, PackMeans::kKernel},
      {even(64, 128 * kKiB), PackLeg::kStaging, kModel, true, PackMeans::kKernel},
      {even(64, 256 * kKiB), PackLeg::kStaging, kModel, true, PackMeans::kCopies},
      {even(4, 4 * kMiB), PackLeg::kStaging, kModel, true, PackMeans::kCopies},
      // As an image: gaps are copied where they are short.
      {even(64, 64), PackLeg::kImage, kModel, true, PackMeans::kOneCopy},
      {even(64, 64), PackLeg::kImage, kNoKernel, true, PackMeans::kOneCopy},
      {even(65536, 4 * kKiB), PackLeg::kImage, kModel, true, PackMeans::kKernel},
      {even(4, 16 * kMiB), PackLeg::kImage, kModel, true, PackMeans::kCopies},
      {{64, 8, 8, 8, 0}, PackLeg::kImage, kModel, true, PackMeans::kKernel},
      // Pulled.
      {even(64, 64), PackLeg::kPulled, kModel, true, PackMeans::kGather},
      {even(64, 64), PackLeg::kPulled, kModel, false, PackMeans::kScratch},
      {even(131072, 8), PackLeg::kPulled, kModel, true, PackMeans::kScratch},
      {even(4, 4 * kMiB), PackLeg::kPulled, kModel, true, PackMeans::kCopies},
      // Within a device the other way is down and up again.
      {even(4, 4 * kMiB), PackLeg::kDevice, kModel, true, PackMeans::kKernel},
      {even(3, 8), PackLeg::kDevice, kModel, true, PackMeans::kCopies},
      // What the user says.
      {even(16384, 64), PackLeg::kStaging, kNoKernel, true, PackMeans::kCopies},
      {even(1, 64), PackLeg::kStaging, kForced, true, PackMeans::kKernel},
      {even(4, 4 * kMiB), PackLeg::kPulled, kForced, true, PackMeans::kGather},
      {even(8, 8), PackLeg::kStaging, {PackUse::kByModel, 16}, true, PackMeans::kCopies},
      // The measured constants: where copies cost less, only many of them are worth a kernel.
      {even(64, 128 * kKiB), PackLeg::kStaging, {PackUse::kByModel, 4, 2000}, true, PackMeans::kCopies},
  };
  for (const Row &row : rows) {
    const PackQuery query{row.runs, row.leg, MemoryKind::kDevice, row.can_gather};
    const PackPlan plan = choose_packing(query, row.limits);
    EXPECT_EQ(plan.means, row.means) << explain(query, plan);
  }
}

TEST(Packing, ChoosesWhatTheModelSaysIsFastest_OfAllThatCanBeDone) {
  for (std::uint64_t n_runs = 4; n_runs < kMiB; n_runs *= 3) {
    for (std::uint64_t run_bytes = 1; run_bytes < kMiB; run_bytes *= 5) {
      for (const PackLeg leg : {PackLeg::kStaging, PackLeg::kImage, PackLeg::kPulled, PackLeg::kDevice}) {
        const PackPlan plan = plan_of(even(n_runs, run_bytes), leg, kModel);
        for (const double us : plan.times_us) {
          if (us == kCannot) continue;
          EXPECT_LE(plan.time_us(plan.means), us) << n_runs << " runs of " << run_bytes;
        }
        EXPECT_NE(plan.time_us(plan.by_runs), kCannot);
        EXPECT_NE(plan.by_runs, PackMeans::kOneCopy);
      }
    }
  }
}

// Who gathers is decided with whole numbers, by the sender (gather.hpp): the model says the same.
TEST(Packing, AgreesWithTheGathererOfAMessage) {
  for (std::uint64_t n_runs = 4; n_runs < kMiB; n_runs *= 2) {
    for (const std::uint64_t run_bytes : {1, 8, 16, 31, 32, 64}) {
      const GatherPlan gatherer = choose_gatherer({n_runs * run_bytes, run_bytes, true}, kGatherBytes);
      const PackPlan plan = plan_of(even(n_runs, run_bytes), PackLeg::kPulled, kModel);
      EXPECT_EQ(plan.time_us(PackMeans::kGather) <= plan.time_us(PackMeans::kScratch),
                gatherer.by == Gatherer::kReceiver)
          << n_runs << " runs of " << run_bytes;
    }
  }
}

TEST(Packing, HasNothingForAKernel_WhereTheRunsAreNotKnown) {
  EXPECT_FALSE(may_pack(0, kForced));
  EXPECT_FALSE(may_pack(0, {PackUse::kByModel, 1}));
  EXPECT_TRUE(may_pack(1, kForced));
  EXPECT_FALSE(may_pack(1000, kNoKernel));
  EXPECT_FALSE(can_pack(0, kForced));
  EXPECT_FALSE(can_pack(1000, kNoKernel));
  EXPECT_TRUE(can_pack(1, {PackUse::kByModel, 4})) << "fewer than copies would gain by, but they are none";
  EXPECT_FALSE(may_pack(1, {PackUse::kByModel, 4}));
  EXPECT_EQ(plan_of({64, 0, 8, 8, 64}, PackLeg::kStaging, kForced).means, PackMeans::kCopies);
}

TEST(Packing, ExplainsItself) {
  const auto words = [](const RunSummary &runs, PackLeg leg, const PackLimits &limits) {
    const PackQuery query{runs, leg};
    return explain(query, choose_packing(query, limits));
  };
  EXPECT_EQ(words(even(16384, 64), PackLeg::kStaging, kModel),
            "device 1048576 bytes in 16384 runs of 64, staged -> kernel: the fastest by the model (copies 81926.4 us, "
            "kernel 55.7 us, scratch 61.3 us)");
  EXPECT_EQ(words({100, 3, 4, 90, 0}, PackLeg::kStaging, kModel),
            "device 100 bytes in 3 runs of 4 to 90, staged -> copies: fewer runs than transfer_pack_from (copies "
            "21.4 us, kernel 23.9 us, scratch 28.9 us)");
  EXPECT_EQ(
      words(even(64, 64), PackLeg::kPulled, kNoKernel),
      "device 4096 bytes in 64 runs of 64, pulled -> copies: no kernel packs here, or SLUICE_TRANSFER_PACK forbids "
      "it (copies 326.4 us)");
}

}  // namespace
}  // namespace sluice::plan::plan_packing_test
