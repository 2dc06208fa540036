// SPDX-License-Identifier: BSD-3-Clause
// Sends that go aside of the program's stream (sluice/stream_message.h). Receives: aside_receives_test.cpp.
#include <vector>

#include "aside_case.h"

namespace {

class Aside : public AsideCase {
 protected:
  // A send behind a gate in the stream, and a copy that makes what it sends: whether it went before the gate opened.
  bool is_sent_before_the_stream_comes() const {
    fill(to_, kBytes, 9);
    EXPECT_EQ(table->stream_wait(stream_, gate(), 1), SLUICE_SUCCESS);
    EXPECT_EQ(table->program_stream_copy(native_, from_, to_, kBytes), SLUICE_SUCCESS);
    send_aside({slot_, from_, kBytes, filled(), kMark});
    while (state().n_at_events == 0 && get(filled()) == 0) std::this_thread::yield();
    const bool is_sent = get(filled()) != 0;
    set(gate(), 1);
    await(filled(), kMark);
    return is_sent;
  }
  // A send that is held back, a join, and a command behind it: whether that has run before the send.
  bool is_passed_before_the_send() const {
    state().holds_priority = true;
    send_aside({slot_, from_, kBytes, filled(), kMark});
    join();
    write(after());
    while (state().n_at_events == 0 && get(after()) == 0) std::this_thread::yield();
    const bool is_passed = get(after()) != 0;
    EXPECT_EQ(get(filled()), 0U);
    state().holds_priority = false;
    synchronize();
    await(filled(), kMark);
    return is_passed;
  }
};

}  // namespace

TEST_F(Aside, ComesBehindWhatTheStreamWasGiven) {
  EXPECT_FALSE(is_sent_before_the_stream_comes());
  EXPECT_EQ(std::memcmp(slot_, to_, kBytes), 0);
  EXPECT_EQ(slot_[kBytes], 0xEE);
}

TEST_F(Aside, ComesBehindWhatTheStreamWasGiven_OrThatIsSeen) {
  state().forgotten = Forgotten::kByPriority;
  EXPECT_TRUE(is_sent_before_the_stream_comes());
  EXPECT_NE(std::memcmp(slot_, to_, kBytes), 0);
}

// The driver would hold up whoever makes the side's stream.
TEST_F(Aside, IsMadeWhenNoStreamWaits) {
  ASSERT_EQ(table->stream_wait(stream_, gate(), 1), SLUICE_SUCCESS);
  sluice_stream_t *other = nullptr;
  open(&other);
  EXPECT_EQ(messages->can_send_aside(other), 0);
  set(gate(), 1);
  synchronize();
  EXPECT_EQ(messages->can_send_aside(other), 1) << table->last_error();
  EXPECT_EQ(table->stream_close(other), SLUICE_SUCCESS);
}

// While nothing of the side runs, a later command of the stream does.
TEST_F(Aside, HoldsUpNothing) {
  state().holds_priority = true;
  fill(from_, kBytes, 3);
  send_aside({slot_, from_, kBytes, filled(), kMark});
  write(after());
  await(after(), 1);
  synchronize();
  EXPECT_EQ(get(filled()), 0U);
  state().holds_priority = false;
  await(filled(), kMark);
  EXPECT_EQ(std::memcmp(slot_, from_, kBytes), 0);
}

TEST_F(Aside, IsWaitedForBehindAJoin) {
  EXPECT_FALSE(is_passed_before_the_send());
}

TEST_F(Aside, IsWaitedForBehindAJoin_OrThatIsSeen) {
  state().forgotten = Forgotten::kByOthers;
  EXPECT_TRUE(is_passed_before_the_send());
}

// Of several calls the last one, too; and a stream that joins where nothing is aside is given no command.
TEST_F(Aside, AJoinIsForAllThatWentBefore) {
  sluice_stream_t *fresh = nullptr;
  open(&fresh);
  const uint64_t n_before = static_cast<CUstream>(native_)->n_enqueued();
  EXPECT_EQ(messages->join(fresh), SLUICE_SUCCESS);
  EXPECT_EQ(static_cast<CUstream>(native_)->n_enqueued(), n_before);
  EXPECT_EQ(table->stream_close(fresh), SLUICE_SUCCESS);
  state().holds_priority = true;
  for (uint64_t k = 0; k < 5; ++k) send_aside({slot_ + k, from_ + k, 1, words_ + 8 + k, kMark});
  join();
  write(after());
  while (state().n_at_events == 0 && get(after()) == 0) std::this_thread::yield();
  EXPECT_EQ(get(after()), 0U);
  state().holds_priority = false;
  await(after(), 1);
  for (uint64_t k = 0; k < 5; ++k) EXPECT_EQ(get(words_ + 8 + k), kMark) << "send " << k;
}

// Long ones of both are under way at the same time, and the blocks of each tell each other in places of their own.
TEST_F(Aside, SharesNothingWithTheStream) {
  for (uint64_t k = 1; k <= 30; ++k) {
    fill(from_, kLong, static_cast<unsigned>(k));
    fill(other_from_, kLong, static_cast<unsigned>(k + 100));
    std::memcpy(other_slot_, other_from_, kLong);
    std::memset(slot_, 0xEE, kLong);
    std::memset(to_, 0xEE, kLong);
    state().holds_priority = true;
    send_aside({slot_, from_, kLong - k, filled(), k << 32U | (kLong - k)});
    const sluice_stream_receive_t receive = {to_, {other_slot_, kLong, kLong}, kLong, other_filled(), k << 32U, taken(),
                                             k};
    sluice_stream_enqueued_t enqueued = {};
    ASSERT_EQ(messages->receive(stream_, &receive, 1, &enqueued), SLUICE_SUCCESS) << table->last_error();
    state().holds_priority = false;
    set(other_filled(), k << 32U | (kLong - 2 * k));
    await(filled(), k << 32U | (kLong - k));
    synchronize();
    EXPECT_EQ(get(taken()), k);
    ASSERT_EQ(std::memcmp(slot_, from_, kLong - k), 0) << "message " << k;
    ASSERT_EQ(slot_[kLong - k], 0xEE) << "message " << k;
    ASSERT_EQ(std::memcmp(to_, other_from_, kLong - 2 * k), 0) << "message " << k;
    ASSERT_EQ(to_[kLong - 2 * k], 0xEE) << "message " << k;
  }
}

TEST_F(Aside, WhatIsRefused_IsNotEnqueued) {
  constexpr uint32_t kMessages = 70;
  constexpr uint32_t kOfALaunch = 32;
  std::vector<sluice_stream_send_t> sends;
  for (uint32_t k = 0; k < kMessages; ++k) sends.push_back({slot_ + k, from_ + k, 1, words_ + k, k + 1});
  state().n_launches = 1;
  sluice_stream_enqueued_t enqueued = {};
  EXPECT_NE(messages->send_aside(stream_, sends.data(), kMessages, &enqueued), SLUICE_SUCCESS);
  state().n_launches = -1;
  EXPECT_EQ(enqueued.n_messages, kOfALaunch);
  EXPECT_EQ(enqueued.n_commands, 3U);
  state().captured = static_cast<CUstream>(native_);
  EXPECT_EQ(messages->send_aside(stream_, sends.data(), kMessages, &enqueued), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_EQ(enqueued.n_messages, 0U);
  EXPECT_EQ(messages->join(stream_), SLUICE_ERROR_UNSUPPORTED);
  state().captured = nullptr;
  join();
  synchronize();
  for (uint32_t k = 0; k < kMessages; ++k) EXPECT_EQ(words_[k], k < kOfALaunch ? k + 1 : 0U) << "message " << k;
  EXPECT_EQ(messages->can_send_aside(nullptr), 0);
  EXPECT_EQ(messages->send_aside(nullptr, sends.data(), 1, &enqueued), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(messages->join(nullptr), SLUICE_ERROR_INVALID_ARGUMENT);
}

// What went aside runs when the stream is closed, and the side goes when no stream waits any more.
TEST_F(Aside, RunsToItsEnd_WhenTheStreamIsClosed) {
  fill(from_, kBytes, 5);
  ASSERT_EQ(table->stream_wait(stream_, gate(), 1), SLUICE_SUCCESS);
  send_aside({slot_, from_, kBytes, filled(), kMark});
  EXPECT_EQ(table->stream_close(stream_), SLUICE_SUCCESS);
  EXPECT_EQ(state().n_priority_streams, 1);
  set(gate(), 1);
  await(filled(), kMark);
  EXPECT_EQ(std::memcmp(slot_, from_, kBytes), 0);
  open(&stream_);  // gives back what was kept
  while (state().n_priority_streams != 0) std::this_thread::yield();
}

// Through the service a side might stand behind another stream that waits, on the connection that both share.
TEST_F(Aside, IsNotThere_WhereStreamsShareFewConnections) {
  ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "2", 1), 0);
  sluice_stream_t *stream = nullptr;
  open(&stream);
  EXPECT_EQ(messages->can_carry(stream), 1);
  EXPECT_EQ(messages->can_send_aside(stream), 0);
  const sluice_stream_send_t send = {slot_, from_, 1, filled(), kMark};
  sluice_stream_enqueued_t enqueued = {};
  EXPECT_EQ(messages->send_aside(stream, &send, 1, &enqueued), SLUICE_ERROR_UNSUPPORTED);
  EXPECT_EQ(messages->join(stream), SLUICE_SUCCESS);
  EXPECT_EQ(table->stream_close(stream), SLUICE_SUCCESS);
  ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1), 0);
}
