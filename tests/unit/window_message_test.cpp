// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/window_message.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "plan/one_sided.hpp"
#include "tests/support/mutator.hpp"

namespace sluice::transfer::window_message_test {
namespace {

constexpr std::uint64_t kNonce = 4711;

std::vector<std::byte> put_message(const std::vector<Block> &runs) {
  WindowHeader header;
  header.nonce = kNonce;
  header.reply = 3;
  for (const Block &run : runs) header.payload_bytes += run.size_bytes;
  header.operand_bytes = header.payload_bytes;
  return encode(header, runs);
}

TEST(WindowMessage, SaysWhatWasEncoded) {
  const std::vector<Block> runs{{100, 8}, {-3, 5}, {1 << 20, 4096}};
  const std::vector<std::byte> bytes = put_message(runs);
  WindowMessage message;
  ASSERT_TRUE(decode(bytes, kNonce, &message));
  EXPECT_EQ(message.header.reply, 3U);
  ASSERT_EQ(message.runs.size(), runs.size());
  EXPECT_EQ(std::memcmp(message.runs.data(), runs.data(), runs.size() * sizeof(Block)), 0);
  EXPECT_EQ(message.operand.size(), 8U + 5U + 4096U);
  EXPECT_FALSE(decode(bytes, kNonce + 1, &message));
  EXPECT_FALSE(decode(std::span(bytes).first(bytes.size() - 1), kNonce, &message));
}

// Whatever comes: what is accepted fits together, and nothing outside of the bytes is read (sanitizers).
TEST(WindowMessage, AcceptsNoNonsense) {
  const std::vector<std::byte> sound = put_message({{100, 8}, {200, 24}, {400, 100}});
  tests::Mutator mutator(1, 132);
  for (int i = 0; i < 10000; ++i) {
    std::vector<std::byte> bytes = sound;
    mutator.mutate(bytes.data(), sizeof(std::uint64_t), bytes.size());
    if (mutator.below(4) == 0) bytes.resize(mutator.below(bytes.size()));
    WindowMessage message;
    if (!decode(bytes, kNonce, &message)) continue;
    std::uint64_t payload_bytes = 0;
    for (const Block &run : message.runs) payload_bytes += run.size_bytes;
    EXPECT_EQ(payload_bytes, message.header.payload_bytes);
    EXPECT_LE(payload_bytes, kMostWindowPayloadBytes);
    EXPECT_EQ(message.operand.size(), message.header.operand_bytes);
    if (!lie_within(message.runs, 500)) continue;
    for (const Block &run : message.runs) EXPECT_LE(run.offset_bytes + static_cast<std::int64_t>(run.size_bytes), 500);
  }
}

TEST(WindowMessage, RunsLieWithinAWindow_OrNot) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  const auto lies = [](std::int64_t offset, std::uint64_t size) {
    const std::vector<Block> runs{{0, 1}, {offset, size}};
    return lie_within(runs, 100);
  };
  EXPECT_TRUE(lies(0, 100));
  EXPECT_TRUE(lies(99, 1));
  EXPECT_FALSE(lies(99, 2));
  EXPECT_FALSE(lies(100, 1));
  EXPECT_FALSE(lies(-1, 1));
  EXPECT_FALSE(lies(kFar, 1));
  EXPECT_FALSE(lies(kFar, std::numeric_limits<std::uint64_t>::max()));
}

// Messages have whole elements, as many bytes and runs as may be, and together all of the payload in its order.
void expect_whole(const Region &target, std::uint64_t element_bytes) {
  std::uint64_t next = 0;
  std::vector<Block> all;
  for_each_message(target, target.size_bytes(), element_bytes,
                   [&](std::span<const Block> runs, std::uint64_t position, std::uint64_t bytes) {
                     EXPECT_EQ(position, next);
                     EXPECT_EQ(bytes % element_bytes, 0U);
                     EXPECT_LE(bytes, kMostWindowPayloadBytes);
                     EXPECT_LE(runs.size(), kMostWindowRuns);
                     next += bytes;
                     all.insert(all.end(), runs.begin(), runs.end());
                     return true;
                   });
  EXPECT_EQ(next, target.size_bytes());
  std::uint64_t position = 0;
  std::size_t at_run = 0;
  std::uint64_t in_run = 0;
  for_each_run(target, target.size_bytes(), [&](std::byte *memory, std::uint64_t /*position*/, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done != bytes; ++done, ++position) {
      if (in_run == all[at_run].size_bytes) {
        ++at_run;
        in_run = 0;
      }
      const auto offset = all[at_run].offset_bytes + static_cast<std::int64_t>(in_run++);
      if (offset != reinterpret_cast<std::intptr_t>(memory) + static_cast<std::int64_t>(done)) {
        ADD_FAILURE() << "byte " << position << " lies elsewhere";
        return false;
      }
    }
    return true;
  });
}

TEST(WindowMessage, LongAccessesAreCut) {
  Region target;
  target.origin = reinterpret_cast<std::byte *>(std::intptr_t{1000});
  target.count = 600000;
  target.layout = std::make_shared<Layout>(Layout::basic(1));
  expect_whole(target, 1);
  auto pairs = std::make_shared<Layout>();
  *pairs = {6, 8, 0, 8, false, {{0, 2}, {4, 4}}, nullptr, 2, 4};
  target.count = 20000;
  target.layout = pairs;
  expect_whole(target, 6);
  expect_whole(target, 1);
}

}  // namespace
}  // namespace sluice::transfer::window_message_test

namespace sluice::plan {
namespace {

TEST(OneSided, GoesDirectlyToMemoryThatIsReached) {
  EXPECT_EQ(choose_one_sided({false, true, true, false, false, false}), OneSidedReason::kSelf);
  EXPECT_EQ(choose_one_sided({false, false, true, true, true, false}), OneSidedReason::kMapped);
  EXPECT_EQ(choose_one_sided({false, false, false, true, true, false}), OneSidedReason::kOtherNode);
  EXPECT_EQ(choose_one_sided({false, false, true, false, true, false}), OneSidedReason::kNotExported);
  EXPECT_EQ(choose_one_sided({false, false, true, true, false, false}), OneSidedReason::kNoRuntime);
  EXPECT_EQ(choose_one_sided({false, false, true, true, true, true}), OneSidedReason::kRefused);
  EXPECT_EQ(choose_one_sided({true, true, true, true, true, false}), OneSidedReason::kDynamic);
  EXPECT_EQ(route_of(OneSidedReason::kSelf), Route::kIpc);
  EXPECT_EQ(route_of(OneSidedReason::kDynamic), Route::kStaged);
}

}  // namespace
}  // namespace sluice::plan
