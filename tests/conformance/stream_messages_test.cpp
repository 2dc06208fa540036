// SPDX-License-Identifier: BSD-3-Clause
// Messages in few commands (sluice/stream_message.h): each comes whole, no other byte is written, and nobody sees a
// word before the bytes. Two streams of one process stand for two processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "stream_message_case.h"

using conformance::kFilled;
using conformance::kGate;
using conformance::kMost;
using conformance::kPoison;
using conformance::kTaken;
using conformance::Memory;
using conformance::receive;
using conformance::send;
using conformance::SharedPage;
using conformance::Stream;
using conformance::stream_message;
using conformance::table;

namespace conformance::stream_messages_test {
namespace {

class StreamMessages : public conformance::StreamMessageCase {};

}  // namespace

TEST_F(StreamMessages, EachComesWhole_HoweverLong) {
  const Stream sender;
  const Stream receiver;
  ASSERT_EQ(stream_message()->can_carry(sender.get()), 1);
  ASSERT_EQ(stream_message()->can_carry(receiver.get()), 1);
  uint64_t number = 0;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{511}, size_t{4096}, size_t{65535}, size_t{65536},
                            size_t{65537}, kMost}) {
    for (const size_t shift : {size_t{0}, size_t{3}}) {
      ++number;
      ASSERT_EQ(sent_.write(conformance::pattern(kMost, number), shift), "");
      poison(received_);
      poison(slot_);
      ASSERT_OK(receive(receiver.get(), {at(received_, 5 - shift), alone(slot_.data()), kMost, word(kFilled),
                                         number << 32U, word(kTaken), number}));
      ASSERT_EQ(words_.get(kTaken), number - 1);
      ASSERT_OK(send(sender.get(), {slot_.data(), at(sent_, shift), size, word(kFilled), number << 32U | size}));
      sender.synchronize();
      EXPECT_EQ(words_.get(kFilled), number << 32U | size);
      receiver.synchronize();
      EXPECT_EQ(words_.get(kTaken), number);
      ASSERT_EQ(find_error(slot_, 0, size, number), "") << size << " bytes sent";
      ASSERT_EQ(find_error(received_, 5 - shift, size, number), "") << size << " bytes received";
    }
  }
}

// The receive is shorter than the message: no byte behind it is written. And the host may let the stream go on with
// none.
TEST_F(StreamMessages, NoMoreIsTaken_ThanWasAskedFor) {
  const Stream receiver;
  ASSERT_EQ(slot_.write(conformance::pattern(kMost, 3)), "");
  uint64_t number = 0;
  for (const size_t most : {size_t{0}, size_t{1}, size_t{1000}, size_t{70000}}) {
    for (const size_t length : {size_t{0}, kMost}) {
      ++number;
      poison(received_);
      ASSERT_OK(receive(receiver.get(), {received_.data(), alone(slot_.data()), most, word(kFilled), number << 32U,
                                         word(kTaken), number}));
      words_.set(kFilled, number << 32U | length);
      receiver.synchronize();
      EXPECT_EQ(words_.get(kTaken), number);
      ASSERT_EQ(find_error(received_, 0, std::min(most, length), 3), "") << most << " of " << length;
    }
  }
}

// A message lies where its word says, up to the last unit that there may be, and is as long as that says.
TEST_F(StreamMessages, EachLiesInTheUnit_ThatItsWordNames) {
  constexpr size_t kUnit = 771;
  constexpr size_t kUnits = 256;
  const sluice_units_t units = {slot_.data(), kUnit * kUnits, kUnit};
  ASSERT_LE(units.size_bytes, slot_.size_bytes());
  struct Case {
    uint64_t unit;
    size_t size;
  };
  constexpr std::array<Case, 7> kCases = {
      {{0, kUnit}, {1, 3 * kUnit - 5}, {17, 1}, {128, 70001}, {200, 0}, {254, 2 * kUnit}, {255, kUnit}}};
  const Stream sender;
  const Stream receiver;
  uint64_t number = 0;
  for (const Case &one : kCases) {
    ++number;
    const uint64_t mark = number << 32U | one.unit << SLUICE_LENGTH_BITS | one.size;
    ASSERT_EQ(sent_.write(conformance::pattern(kMost, number)), "");
    poison(received_);
    poison(slot_);
    ASSERT_OK(
        receive(receiver.get(), {received_.data(), units, kMost, word(kFilled), number << 32U, word(kTaken), number}));
    ASSERT_OK(send(sender.get(), {at(slot_, one.unit * kUnit), sent_.data(), one.size, word(kFilled), mark}));
    sender.synchronize();
    receiver.synchronize();
    EXPECT_EQ(words_.get(kTaken), number);
    ASSERT_EQ(find_error(slot_, one.unit * kUnit, one.size, number), "") << one.size << " bytes sent";
    ASSERT_EQ(find_error(received_, 0, one.size, number), "") << one.size << " bytes from unit " << one.unit;
  }
}

// All enqueued ahead, behind a gate, with the program's copies before each send and behind each receive.
TEST_F(StreamMessages, KeepTheirPlaceAmongTheProgramsCommands) {
  constexpr uint64_t kMessages = 20;
  constexpr size_t kBytes = 5003;
  std::vector<Memory> from(kMessages);
  std::vector<Memory> to(kMessages);
  const Stream sender;
  const Stream receiver;
  sender.wait(word(kGate), 1);
  for (uint64_t k = 1; k <= kMessages; ++k) {
    ASSERT_EQ(Memory::make(SLUICE_MEMORY_DEVICE, 0, kBytes, &from[k - 1]), "");
    ASSERT_EQ(Memory::make(SLUICE_MEMORY_DEVICE, 0, kBytes, &to[k - 1]), "");
    ASSERT_EQ(from[k - 1].write(conformance::pattern(kBytes, k)), "");
    sender.copy(sent_.data(), from[k - 1].data(), kBytes);
    // One slot: the sender waits until the message before is out of it.
    sender.wait(word(kTaken), k - 1);
    ASSERT_OK(send(sender.get(), {slot_.data(), sent_.data(), kBytes, word(kFilled), k << 32U | kBytes}));
    ASSERT_OK(receive(receiver.get(),
                      {received_.data(), alone(slot_.data()), kMost, word(kFilled), k << 32U, word(kTaken), k}));
    receiver.copy(to[k - 1].data(), received_.data(), kBytes);
  }
  words_.set(kGate, 1);
  sender.synchronize();
  receiver.synchronize();
  for (uint64_t k = 1; k <= kMessages; ++k) {
    std::vector<std::byte> bytes;
    ASSERT_EQ(to[k - 1].read(&bytes), "");
    ASSERT_EQ(conformance::pattern_mismatch(bytes, k), "") << "message " << k;
  }
}

// A batch for many channels, of three messages each, with words between that have no bytes: all in one call,
// each whole, and the channels' words count up. The receiver's stream is told first, and the sender's is held, so that
// all wait.
TEST_F(StreamMessages, ManyInOneCall_AllCome) {
  constexpr size_t kChannels = 20;
  constexpr size_t kMessages = 60;
  constexpr std::array<size_t, 7> kSizes = {8, 0, 1, 777, 4096, 65537, 65536};
  constexpr size_t kSlot = 65537;
  constexpr size_t kWordsOfAChannel = kMessages / kChannels + 1;  // filled, of each message, and taken
  constexpr size_t kFirstWord = 32;
  const auto size_of = [&](size_t k) { return kSizes[k % kSizes.size()]; };
  // Some go by many blocks.
  const auto most_of = [&](size_t k) { return k % 29 == 0 ? kSlot : kSlot - 1; };
  const auto channel_of = [](size_t k) { return k % kChannels; };
  const auto number_of = [](size_t k) { return uint64_t{k / kChannels + 1}; };
  const auto filled = [&](size_t k) { return word(kFirstWord + channel_of(k) * kWordsOfAChannel + k / kChannels); };
  const auto taken = [&](size_t k) {
    return word(kFirstWord + channel_of(k) * kWordsOfAChannel + kWordsOfAChannel - 1);
  };
  ASSERT_LE((kFirstWord + kChannels * kWordsOfAChannel) * sizeof(uint64_t), SharedPage::kBytes);
  std::array<Memory, 3> memories;
  for (Memory &memory : memories) {
    ASSERT_EQ(Memory::make(SLUICE_MEMORY_DEVICE, 0, kMessages * kSlot, &memory), "");
    poison(memory);
  }
  const auto &[from, slots, to] = memories;
  std::vector<sluice_stream_send_t> sends;
  std::vector<sluice_stream_receive_t> receives;
  for (size_t k = 0; k < kMessages; ++k) {
    const size_t begin = k * kSlot;
    const uint64_t mark = number_of(k) << 32U;
    ASSERT_EQ(from.write(conformance::pattern(kSlot, k), begin), "");
    sends.push_back({at(slots, begin), at(from, begin), size_of(k), filled(k), mark | size_of(k)});
    receives.push_back(
        {at(to, begin), alone(at(slots, begin), kSlot), most_of(k), filled(k), mark, taken(k), number_of(k)});
  }
  sends.push_back({nullptr, nullptr, 0, word(kFilled), 5});
  const Stream sender;
  const Stream receiver;
  sender.wait(word(kGate), 1);
  sluice_stream_enqueued_t enqueued = {};
  ASSERT_OK(stream_message()->receive(receiver.get(), receives.data(), kMessages, &enqueued));
  EXPECT_EQ(enqueued.n_messages, kMessages);
  ASSERT_OK(stream_message()->send(sender.get(), sends.data(), static_cast<uint32_t>(sends.size()), &enqueued));
  EXPECT_EQ(enqueued.n_messages, sends.size());
  for (size_t k = 0; k < kMessages; ++k) ASSERT_EQ(*taken(k), 0U) << "message " << k;
  words_.set(kGate, 1);
  sender.synchronize();
  receiver.synchronize();
  EXPECT_EQ(words_.get(kFilled), 5U);
  std::vector<std::byte> bytes;
  ASSERT_EQ(to.read(&bytes), "");
  for (size_t k = 0; k < kMessages; ++k) {
    EXPECT_EQ(*filled(k), number_of(k) << 32U | size_of(k)) << "message " << k;
    EXPECT_EQ(*taken(k), kMessages / kChannels) << "message " << k;
    const size_t size = std::min(size_of(k), most_of(k));
    const auto one = std::span(bytes).subspan(k * kSlot, kSlot);
    ASSERT_EQ(conformance::pattern_mismatch(one.first(size), k), "") << "message " << k;
    ASSERT_TRUE(std::ranges::all_of(one.subspan(size), [](std::byte byte) { return byte == kPoison; })) << k;
  }
}

// In whatever order they come: here the last one first.
TEST_F(StreamMessages, ManyInOneCall_ComeInAnyOrder) {
  constexpr size_t kMessages = 20;
  constexpr size_t kBytes = 100;
  constexpr size_t kFirstWord = 32;
  std::vector<sluice_stream_receive_t> receives;
  poison(received_);
  ASSERT_EQ(slot_.write(conformance::pattern(kMessages * kBytes, 9)), "");
  for (size_t k = 0; k < kMessages; ++k) {
    receives.push_back({at(received_, k * kBytes), alone(at(slot_, k * kBytes), kBytes), kBytes, word(kFirstWord + k),
                        uint64_t{1} << 32U, word(kFirstWord + kMessages + k), 1});
  }
  const Stream receiver;
  sluice_stream_enqueued_t enqueued = {};
  ASSERT_OK(stream_message()->receive(receiver.get(), receives.data(), kMessages, &enqueued));
  for (size_t k = kMessages; k-- > 0;) words_.set(kFirstWord + k, uint64_t{1} << 32U | kBytes);
  receiver.synchronize();
  for (size_t k = 0; k < kMessages; ++k) EXPECT_EQ(words_.get(kFirstWord + kMessages + k), 1U) << "message " << k;
  ASSERT_EQ(find_error(received_, 0, kMessages * kBytes, 9), "");
}

TEST_F(StreamMessages, NullStreams_AreRefused) {
  EXPECT_EQ(stream_message()->can_carry(nullptr), 0);
  EXPECT_EQ(send(nullptr, {slot_.data(), sent_.data(), 8, word(kFilled), 1}), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_STRNE(table().last_error(), "");
  EXPECT_EQ(receive(nullptr, {received_.data(), alone(slot_.data()), 8, word(kFilled), 1, word(kTaken), 1}),
            SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(words_.get(kFilled), 0U);
}

}  // namespace conformance::stream_messages_test
