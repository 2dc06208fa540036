// SPDX-License-Identifier: BSD-3-Clause
#include "plan/gather.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace sluice::plan::gather_test {
namespace {

constexpr std::uint64_t kLimit = 4096;
constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

struct Row {
  std::uint64_t size_bytes;
  std::uint64_t run_bytes;
  std::uint64_t limit_bytes;
  std::uint64_t extra_bytes;
  Gatherer by;
};

TEST(Gather, IsTheReceivers_UpToWhatCrossesTheLinkBesideThePayload) {
  const Row rows[] = {
      // Whole pieces bring nothing else, however long the payload is.
      {4096, 4096, 1, 0, Gatherer::kReceiver},
      {kMost, 64, 1, 0, Gatherer::kReceiver},
      {kMost, kMost, kLargest, 0, Gatherer::kReceiver},
      // A run of 8 bytes brings 24, one of 33 brings 31.
      {8, 8, 23, 24, Gatherer::kSender},
      {8, 8, 24, 24, Gatherer::kReceiver},
      {170 * 8, 8, kLimit, 4080, Gatherer::kReceiver},
      {171 * 8, 8, kLimit, 4104, Gatherer::kSender},
      {132 * 33, 33, kLimit, 4092, Gatherer::kReceiver},
      {133 * 33, 33, kLimit, 4123, Gatherer::kSender},
      // As measured (docs/adr/0041): 512 KiB in runs of 8 sooner so, 1 MiB later.
      {512 << 10, 8, kGatherBytes, kGatherBytes, Gatherer::kReceiver},
      {1 << 20, 8, kGatherBytes, 2 * kGatherBytes, Gatherer::kSender},
      {16 << 20, 64, kGatherBytes, 0, Gatherer::kReceiver},
      // More than can be counted is not mistaken for little.
      {kMost, 1, kLimit, kLargest, Gatherer::kSender},
      {kMost, 8, kLimit, 3 * kMost, Gatherer::kSender},
  };
  for (const Row &row : rows) {
    SCOPED_TRACE(std::to_string(row.size_bytes) + " in runs of " + std::to_string(row.run_bytes));
    const GatherPlan plan = choose_gatherer({row.size_bytes, row.run_bytes, true}, row.limit_bytes);
    EXPECT_EQ(plan.extra_bytes, row.extra_bytes);
    EXPECT_EQ(plan.by, row.by);
  }
}

TEST(Gather, IsTheSenders_WhereADescriptorCannotSayIt) {
  EXPECT_EQ(choose_gatherer({64, 0, false}, kLimit).by, Gatherer::kSender);
  EXPECT_EQ(choose_gatherer({64, 8, false}, kLimit).by, Gatherer::kSender);
}

TEST(Gather, ExplainsItself) {
  const auto words = [](const GatherQuery &query) { return explain(query, choose_gatherer(query, kLimit)); };
  EXPECT_EQ(
      words({1024, 8, true}),
      "1024 bytes in runs of 8, which bring 3072 more over the link -> gathered by the receiver: the sender need not "
      "pack it first");
  EXPECT_EQ(words({1 << 20, 64, true}),
            "1048576 bytes in runs of 64 -> gathered by the receiver: the sender need not pack it first");
  EXPECT_EQ(words({2048, 8, true}),
            "2048 bytes in runs of 8, which bring 6144 more over the link -> gathered by the sender: that is more than "
            "it may bring");
  EXPECT_EQ(words({1024, 0, false}),
            "1024 bytes in irregular runs -> gathered by the sender: a descriptor has no room for where the runs lie");
}

}  // namespace
}  // namespace sluice::plan::gather_test
