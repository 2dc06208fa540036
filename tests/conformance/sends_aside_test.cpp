// SPDX-License-Identifier: BSD-3-Clause
// Sends that go aside of a stream (sluice/stream_message.h), and receives, where a module has a side for it: behind
// what the stream was given before, and done behind a join. What needs a side that is held back is the backend's own
// tests'.
#include <array>
#include <vector>

#include "stream_message_case.h"

using conformance::kFilled;
using conformance::kGate;
using conformance::kMost;
using conformance::kTaken;
using conformance::Memory;
using conformance::receive;
using conformance::Stream;
using conformance::stream_message;
using conformance::table;

namespace conformance::sends_aside_test {
namespace {

class SendsAside : public conformance::StreamMessageCase {
 protected:
  void SetUp() override {
    StreamMessageCase::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (stream_message()->send_aside == nullptr) GTEST_SKIP() << "missing: streams with a side for sends";
    const Stream stream;
    if (stream_message()->can_send_aside(stream.get()) == 0) GTEST_SKIP() << "missing: a side of this device's streams";
  }

  static void send_aside(const Stream &stream, const sluice_stream_send_t &one) {
    sluice_stream_enqueued_t enqueued = {7, 7};
    ASSERT_OK(stream_message()->send_aside(stream.get(), &one, 1, &enqueued));
    EXPECT_EQ(enqueued.n_messages, 1U);
    EXPECT_NE(enqueued.n_commands, 0U);
  }
  static void join(const Stream &stream) { ASSERT_OK(stream_message()->join(stream.get())); }
};

}  // namespace

// The program makes what is sent just before, works on other memory meanwhile, and makes the next one just behind the
// join: all enqueued ahead, behind a gate, and each message is the one that was there in its place.
TEST_F(SendsAside, KeepTheirPlaceBetweenWhatComesBefore_AndTheJoin) {
  constexpr uint64_t kMessages = 24;
  constexpr std::array<size_t, 3> kSizes = {kMost - 3, 5003, 1};
  std::vector<Memory> from(kMessages);
  std::vector<Memory> slots(kMessages);
  Memory other;
  ASSERT_EQ(Memory::make(SLUICE_MEMORY_DEVICE, 0, kMost, &other), "");
  const Stream sender;
  ASSERT_EQ(stream_message()->can_send_aside(sender.get()), 1);
  sender.wait(word(kGate), 1);
  for (uint64_t k = 0; k < kMessages; ++k) {
    const size_t size = kSizes[k % kSizes.size()];
    ASSERT_EQ(Memory::make(SLUICE_MEMORY_DEVICE, 0, kMost, &from[k]), "");
    ASSERT_EQ(Memory::make(SLUICE_MEMORY_DEVICE, 0, kMost + 5, &slots[k]), "");
    ASSERT_EQ(from[k].write(conformance::pattern(kMost, k)), "");
    poison(slots[k]);
    sender.copy(sent_.data(), from[k].data(), kMost);
    send_aside(sender, {slots[k].data(), sent_.data(), size, word(32 + k), uint64_t{1} << 32U | size});
    sender.copy(other.data(), from[k].data(), kMost);
    join(sender);
  }
  sender.write(word(kFilled), 5);
  EXPECT_EQ(words_.get(kFilled), 0U);
  words_.set(kGate, 1);
  sender.synchronize();
  for (uint64_t k = 0; k < kMessages; ++k) {
    const size_t size = kSizes[k % kSizes.size()];
    EXPECT_EQ(words_.get(32 + k), uint64_t{1} << 32U | size) << "message " << k;
    ASSERT_EQ(find_error(slots[k], 0, size, k), "") << "message " << k;
  }
}

// Two streams send each other long messages aside and take them, several rounds ahead: what the blocks of one count is
// nothing to the other's, nor to those of the same stream's receives.
TEST_F(SendsAside, GoBesideReceivesOfTheSameStream) {
  constexpr uint64_t kRounds = 20;
  constexpr size_t kLong = 100003;
  struct Side {
    Memory from, slot, to;
    Stream stream;
  };
  std::array<Side, 2> sides;
  const auto filled = [&](size_t i) { return word(32 + 16 * i); };
  const auto taken = [&](size_t i) { return word(64 + 16 * i); };
  for (Side &side : sides) {
    // Before a stream waits: a module may make no side while one does.
    ASSERT_EQ(stream_message()->can_send_aside(side.stream.get()), 1);
    for (Memory *memory : {&side.from, &side.slot, &side.to}) {
      ASSERT_EQ(Memory::make(SLUICE_MEMORY_DEVICE, 0, kMost, memory), "");
    }
  }
  for (uint64_t k = 1; k <= kRounds; ++k) {
    for (const Side &side : sides) {
      for (const Memory *memory : {&side.from, &side.slot, &side.to}) poison(*memory);
      ASSERT_EQ(side.from.write(conformance::pattern(kLong, 100 * static_cast<uint64_t>(&side - sides.data()) + k)),
                "");
    }
    for (size_t i = 0; i < 2; ++i) {
      send_aside(sides[i].stream, {sides[1 - i].slot.data(), sides[i].from.data(), kLong, filled(i), k << 32U | kLong});
      ASSERT_OK(receive(sides[i].stream.get(), {sides[i].to.data(), alone(sides[i].slot.data()), kMost, filled(1 - i),
                                                k << 32U, taken(i), k}));
      join(sides[i].stream);
    }
    for (const Side &side : sides) side.stream.synchronize();
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(*taken(i), k);
      ASSERT_EQ(find_error(sides[i].to, 0, kLong, 100 * (1 - i) + k), "") << "round " << k;
    }
  }
}

// Both ways aside, all rounds enqueued ahead: each side's stream makes what it sends, works on other memory meanwhile,
// and copies what it received behind its join.
TEST_F(SendsAside, AndReceives_KeepTheirPlaces) {
  constexpr uint64_t kRounds = 12;
  if (stream_message()->receive_aside == nullptr) GTEST_SKIP() << "missing: streams with a side for receives";
  struct Side {
    Memory from, slot, to, other;
    Stream stream;
    std::vector<Memory> sources, seen;
  };
  std::array<Side, 2> sides;
  const auto filled = [&](size_t i) { return word(32 + 16 * i); };
  const auto taken = [&](size_t i) { return word(64 + 16 * i); };
  const auto make = [](Memory *memory) { ASSERT_EQ(Memory::make(SLUICE_MEMORY_DEVICE, 0, kMost, memory), ""); };
  // A module may make a side only while no stream waits.
  for (const Side &side : sides) {
    if (stream_message()->can_receive_aside(side.stream.get()) == 0) GTEST_SKIP() << "missing: waits by kernels here";
  }
  for (Side &side : sides) {
    for (Memory *memory : {&side.from, &side.slot, &side.to, &side.other}) make(memory);
    side.sources.resize(kRounds);
    side.seen.resize(kRounds);
    side.stream.wait(word(kGate), 1);
  }
  for (uint64_t k = 0; k < kRounds; ++k) {
    for (size_t i = 0; i < 2; ++i) {
      Side &side = sides[i];
      make(&side.sources[k]);
      make(&side.seen[k]);
      ASSERT_EQ(side.sources[k].write(conformance::pattern(kMost, 100 * i + k)), "");
      side.stream.copy(side.from.data(), side.sources[k].data(), kMost);
      // A slot is written again when the message before has been taken out of it, as a sender's credits have it.
      if (k != 0) side.stream.wait(taken(1 - i), k);
      send_aside(side.stream,
                 {sides[1 - i].slot.data(), side.from.data(), kMost, filled(1 - i), (k + 1) << 32U | kMost});
      const sluice_stream_receive_t one = {
          side.to.data(), alone(side.slot.data()), kMost, filled(i), (k + 1) << 32U, taken(i), k + 1};
      sluice_stream_enqueued_t enqueued = {7, 7};
      ASSERT_OK(stream_message()->receive_aside(side.stream.get(), &one, 1, static_cast<int32_t>(k % 2), &enqueued));
      EXPECT_EQ(enqueued.n_messages, 1U);
      side.stream.copy(side.other.data(), side.sources[k].data(), kMost);
      ASSERT_OK(stream_message()->join_all(side.stream.get()));
      side.stream.copy(side.seen[k].data(), side.to.data(), kMost);
    }
  }
  words_.set(kGate, 1);
  for (const Side &side : sides) side.stream.synchronize();
  for (uint64_t k = 0; k < kRounds; ++k) {
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(find_error(sides[i].seen[k], 0, kMost, 100 * (1 - i) + k), "") << "round " << k;
    }
  }
}

TEST_F(SendsAside, AJoinOfNothing_AndNullStreams) {
  const Stream stream;
  join(stream);
  stream.synchronize();
  EXPECT_EQ(stream_message()->can_send_aside(nullptr), 0);
  const sluice_stream_send_t one = {slot_.data(), sent_.data(), 8, word(kFilled), 1};
  sluice_stream_enqueued_t enqueued = {7, 7};
  EXPECT_EQ(stream_message()->send_aside(nullptr, &one, 1, &enqueued), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(enqueued.n_messages, 0U);
  EXPECT_EQ(stream_message()->join(nullptr), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_STRNE(table().last_error(), "");
  EXPECT_EQ(words_.get(kFilled), 0U);
  EXPECT_EQ(words_.get(kTaken), 0U);
}

}  // namespace conformance::sends_aside_test
