// SPDX-License-Identifier: BSD-3-Clause
// Receives that go aside of the program's stream (sluice/stream_message.h). Sends: aside_test.cpp.
#include <array>

#include "aside_case.h"

namespace {

class AsideReceives : public AsideCase {
 protected:
  void SetUp() override {
    AsideCase::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(messages->can_receive_aside(stream_), 1) << table->last_error();
    ASSERT_EQ(state().n_priority_streams, 2) << "a side for each direction";
  }

  // A receive out of slot_ into to_.
  sluice_stream_receive_t receive() const { return {to_, {slot_, kLong, kLong}, kLong, filled(), kMark, taken(), 1}; }
  // The same out of other_slot_ into other_from_.
  sluice_stream_receive_t other_receive() const {
    return {other_from_, {other_slot_, kLong, kLong}, kLong, other_filled(), kMark, other_taken(), 1};
  }
  void receive_aside(const sluice_stream_receive_t &one, bool is_with_sends = false) const {
    sluice_stream_enqueued_t enqueued = {};
    ASSERT_EQ(messages->receive_aside(stream_, &one, 1, is_with_sends ? 1 : 0, &enqueued), SLUICE_SUCCESS)
        << table->last_error();
    EXPECT_EQ(enqueued.n_messages, 1U);
    EXPECT_EQ(enqueued.n_commands, is_with_sends ? 2U : 3U);
  }
  void join_all() const { ASSERT_EQ(messages->join_all(stream_), SLUICE_SUCCESS) << table->last_error(); }
  // The message is there.
  static void deliver(unsigned char *slot, uint64_t *word, unsigned seed) {
    fill(slot, kBytes, seed);
    set(word, kMark | kBytes);
  }
  uint64_t *other_taken() const { return words_ + 5; }

  // A receive whose message is there, behind a gate in the stream: whether it took that before the gate opened.
  bool is_taken_before_the_stream_comes(bool is_with_sends) const {
    deliver(slot_, filled(), 4);
    EXPECT_EQ(table->stream_wait(stream_, gate(), 1), SLUICE_SUCCESS);
    if (is_with_sends) send_aside({other_slot_, other_from_, 1, other_filled(), kMark});
    receive_aside(receive(), is_with_sends);
    const int n_waiting = is_with_sends ? 2 : 1;
    while (state().n_at_events != n_waiting && get(taken()) == 0) std::this_thread::yield();
    const bool is_taken = get(taken()) != 0;
    set(gate(), 1);
    await(taken(), 1);
    return is_taken;
  }
  // A receive, a join and a command behind it: whether that has run before the message came.
  bool is_passed_before_the_message() const {
    receive_aside(receive());
    join_all();
    write(after());
    while (state().n_at_events == 0 && get(after()) == 0) std::this_thread::yield();
    const bool is_passed = get(after()) != 0;
    deliver(slot_, filled(), 6);
    synchronize();
    await(taken(), 1);
    return is_passed;
  }
};

}  // namespace

TEST_F(AsideReceives, ComeBehindWhatTheStreamWasGiven) {
  EXPECT_FALSE(is_taken_before_the_stream_comes(false));
  EXPECT_EQ(std::memcmp(to_, slot_, kBytes), 0);
  EXPECT_EQ(to_[kBytes], 0xEE);
}

TEST_F(AsideReceives, ComeBehindWhatTheSendsComeBehind) {
  EXPECT_FALSE(is_taken_before_the_stream_comes(true));
  EXPECT_EQ(std::memcmp(to_, slot_, kBytes), 0);
}

TEST_F(AsideReceives, ComeBehindWhatTheStreamWasGiven_OrThatIsSeen) {
  state().forgotten = Forgotten::kByPriority;
  EXPECT_TRUE(is_taken_before_the_stream_comes(false));
}

// Neither the stream nor its sends wait for a message that has not come.
TEST_F(AsideReceives, HoldUpNothing) {
  receive_aside(receive());
  fill(from_, kBytes, 2);
  send_aside({other_slot_, from_, kBytes, other_filled(), kMark});
  write(after());
  await(after(), 1);
  await(other_filled(), kMark);
  join();  // the sends'
  synchronize();
  EXPECT_EQ(std::memcmp(other_slot_, from_, kBytes), 0);
  EXPECT_EQ(get(taken()), 0U);
  deliver(slot_, filled(), 8);
  await(taken(), 1);
  EXPECT_EQ(std::memcmp(to_, slot_, kBytes), 0);
}

// Of one call, the last one first, short and long.
TEST_F(AsideReceives, AreTakenEachByItself) {
  constexpr uint32_t kMost = SLUICE_STREAM_MOST_RECEIVES_ASIDE;
  constexpr size_t kPart = kLong / kMost;
  std::array<sluice_stream_receive_t, kMost> all{};
  for (uint64_t k = 0; k < kMost; ++k) {
    const uint64_t most = k == 3 ? kLong - 3 * kPart : kPart;  // by several blocks
    all[k] = {to_ + k * kPart, {slot_ + k * kPart, kPart, kPart}, most, words_ + 16 + k, kMark, words_ + 32 + k, 1};
  }
  fill(slot_, kLong, 1);
  sluice_stream_enqueued_t enqueued = {};
  ASSERT_EQ(messages->receive_aside(stream_, all.data(), kMost, 0, &enqueued), SLUICE_SUCCESS) << table->last_error();
  EXPECT_EQ(enqueued.n_messages, kMost);
  EXPECT_EQ(enqueued.n_commands, 3U) << "one launch";
  for (uint64_t k = kMost; k-- > 0;) {
    EXPECT_EQ(get(words_ + 32 + k), 0U);
    set(words_ + 16 + k, kMark | kPart);
    await(words_ + 32 + k, 1);
    EXPECT_EQ(std::memcmp(to_ + k * kPart, slot_ + k * kPart, kPart), 0) << "message " << k;
  }
}

TEST_F(AsideReceives, AreWaitedForBehindAJoin) {
  EXPECT_FALSE(is_passed_before_the_message());
}

TEST_F(AsideReceives, AreWaitedForBehindAJoin_OrThatIsSeen) {
  state().forgotten = Forgotten::kByOthers;
  EXPECT_TRUE(is_passed_before_the_message());
}

// By one command in the stream.
TEST_F(AsideReceives, AJoinOfAll_IsForSendsToo) {
  auto *const stream = static_cast<CUstream>(native_);
  state().holds_priority = true;
  send_aside({slot_, from_, 1, filled(), kMark | 1});
  const uint64_t n_before = stream->n_enqueued();
  join_all();
  EXPECT_EQ(stream->n_enqueued(), n_before + 1);
  write(after());
  while (state().n_at_events == 0 && get(after()) == 0) std::this_thread::yield();
  EXPECT_EQ(get(after()), 0U);
  state().holds_priority = false;
  await(after(), 1);
  EXPECT_EQ(get(filled()), kMark | 1);
}

TEST_F(AsideReceives, WhatIsRefused_IsNotEnqueued) {
  const sluice_stream_receive_t one = receive();
  sluice_stream_enqueued_t enqueued = {7, 7};
  EXPECT_EQ(messages->receive_aside(stream_, &one, 0, 0, &enqueued), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(messages->receive_aside(stream_, &one, SLUICE_STREAM_MOST_RECEIVES_ASIDE + 1, 0, &enqueued),
            SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(messages->receive_aside(nullptr, &one, 1, 0, &enqueued), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(messages->join_all(nullptr), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(messages->can_receive_aside(nullptr), 0);
  state().captured = static_cast<CUstream>(native_);
  EXPECT_EQ(messages->receive_aside(stream_, &one, 1, 0, &enqueued), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_EQ(messages->join_all(stream_), SLUICE_ERROR_UNSUPPORTED);
  state().captured = nullptr;
  state().n_launches = 0;
  EXPECT_NE(messages->receive_aside(stream_, &one, 1, 0, &enqueued), SLUICE_SUCCESS);
  state().n_launches = -1;
  EXPECT_EQ(enqueued.n_messages, 0U);
  deliver(slot_, filled(), 3);
  join_all();
  synchronize();
  EXPECT_EQ(get(taken()), 0U);
  set(taken(), 1);  // as whoever takes it instead does; until then the module takes the stream for one that waits
}
