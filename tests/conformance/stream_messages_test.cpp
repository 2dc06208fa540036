// SPDX-License-Identifier: BSD-3-Clause
// Messages in few commands (sluice/stream_message.h): each comes whole, no other byte is written, and nobody sees a
// word before the bytes. Two streams of one process stand for two processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"
#include "shared_page.h"
#include "stream_case.h"
#include "stream_message_under_test.h"

using conformance::Memory;
using conformance::SharedPage;
using conformance::Stream;
using conformance::stream_message;
using conformance::table;

namespace {

constexpr std::byte kPoison{0xA5};
// Longer than what one block copies, and not a multiple of anything.
constexpr size_t kMost = 200003;
constexpr size_t kFilled = 0;
constexpr size_t kTaken = 8;
constexpr size_t kGate = 16;

// A slot, a buffer on each side, and words; all of device 0.
class StreamMessages : public testing::Test {
 protected:
  void SetUp() override {
    if (stream_message() == nullptr) GTEST_SKIP() << "missing: a table for messages in few commands";
    if (!conformance::has_stream_groups()) GTEST_SKIP() << "missing: the group stream";
    for (Memory *memory : {&sent_, &slot_, &received_}) {
      ASSERT_EQ(Memory::make(SLUICE_MEMORY_DEVICE, 0, kMost + 5, memory), "");
    }
    ASSERT_OK(table().host_register(0, words_.data(), SharedPage::kBytes));
    is_registered_ = true;
  }
  void TearDown() override {
    if (is_registered_) EXPECT_OK(table().host_unregister(0, words_.data()));
  }

  uint64_t *word(size_t index) const { return words_.data() + index; }
  static void poison(const Memory &memory) {
    ASSERT_EQ(memory.write(std::vector<std::byte>(memory.size_bytes(), kPoison)), "");
  }
  // All poisoned, but for `size` bytes from `first` on, which are the pattern's.
  static std::string find_error(const Memory &memory, size_t first, size_t size, uint64_t iteration) {
    std::vector<std::byte> bytes;
    std::string problem = memory.read(&bytes);
    if (problem.empty()) problem = conformance::pattern_mismatch(std::span(bytes).subspan(first, size), iteration);
    for (size_t i = 0; i < bytes.size() && problem.empty(); ++i) {
      const bool is_outside = i < first || i >= first + size;
      if (is_outside && bytes[i] != kPoison) problem = "byte " + std::to_string(i) + " outside was written";
    }
    return problem;
  }
  static std::byte *at(const Memory &memory, size_t offset) { return static_cast<std::byte *>(memory.data()) + offset; }

  Memory sent_;
  Memory slot_;
  Memory received_;
  SharedPage words_;
  bool is_registered_ = false;
};

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
      ASSERT_OK(stream_message()->receive(receiver.get(), at(received_, 5 - shift), slot_.data(), kMost, word(kFilled),
                                          number << 32U, word(kTaken), number));
      ASSERT_EQ(words_.get(kTaken), number - 1);
      ASSERT_OK(stream_message()->send(sender.get(), slot_.data(), at(sent_, shift), size, word(kFilled),
                                       number << 32U | size));
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
      ASSERT_OK(stream_message()->receive(receiver.get(), received_.data(), slot_.data(), most, word(kFilled),
                                          number << 32U, word(kTaken), number));
      words_.set(kFilled, number << 32U | length);
      receiver.synchronize();
      EXPECT_EQ(words_.get(kTaken), number);
      ASSERT_EQ(find_error(received_, 0, std::min(most, length), 3), "") << most << " of " << length;
    }
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
    ASSERT_OK(
        stream_message()->send(sender.get(), slot_.data(), sent_.data(), kBytes, word(kFilled), k << 32U | kBytes));
    ASSERT_OK(stream_message()->receive(receiver.get(), received_.data(), slot_.data(), kMost, word(kFilled), k << 32U,
                                        word(kTaken), k));
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

TEST_F(StreamMessages, NullStreams_AreRefused) {
  EXPECT_EQ(stream_message()->can_carry(nullptr), 0);
  EXPECT_EQ(stream_message()->send(nullptr, slot_.data(), sent_.data(), 8, word(kFilled), 1),
            SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_STRNE(table().last_error(), "");
  EXPECT_EQ(stream_message()->receive(nullptr, received_.data(), slot_.data(), 8, word(kFilled), 1, word(kTaken), 1),
            SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(words_.get(kFilled), 0U);
}
