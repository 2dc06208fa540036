// SPDX-License-Identifier: BSD-3-Clause
// Who carries a message of a channel: every reason for which the sender's stream does not, and the edges of its
// credits.
#include "plan/stream_channel.hpp"

#include <gtest/gtest.h>

namespace {

using sluice::plan::choose_stream;
using sluice::plan::StreamChannel;
using sluice::plan::StreamMessage;

StreamChannel channel() {
  return {.is_mapped = true, .first = 3, .slot_bytes = 1024, .n_slots = 4, .n_words = 8, .taken = 10, .seen = 9};
}

bool is_by_stream(const StreamMessage &message, const StreamChannel &in) {
  const auto choice = choose_stream(message, in);
  EXPECT_FALSE(choice.reason.empty());
  return choice.is_by_stream;
}

TEST(StreamChannel, EachConditionCounts) {
  const StreamMessage good = {11, 1024, true};
  EXPECT_TRUE(is_by_stream(good, channel()));
  StreamChannel without = channel();
  without.is_mapped = false;
  EXPECT_FALSE(is_by_stream(good, without));
  EXPECT_FALSE(is_by_stream({11, 1024, false}, channel()));
  EXPECT_FALSE(is_by_stream({11, 1025, true}, channel()));
  EXPECT_TRUE(is_by_stream({11, 0, true}, channel()));
}

TEST(StreamChannel, TheFirstIsTheReceivers) {
  StreamChannel early = channel();
  early.taken = early.seen = 2;
  EXPECT_FALSE(is_by_stream({2, 8, true}, early));
  EXPECT_TRUE(is_by_stream({3, 8, true}, early));
}

TEST(StreamChannel, CreditsEndWhereSlotsAndWordsDo) {
  EXPECT_TRUE(is_by_stream({14, 8, true}, channel()));
  EXPECT_FALSE(is_by_stream({15, 8, true}, channel()));
  StreamChannel unseen = channel();
  unseen.seen = 4;
  EXPECT_TRUE(is_by_stream({12, 8, true}, unseen));
  EXPECT_FALSE(is_by_stream({13, 8, true}, unseen));
}

}  // namespace
