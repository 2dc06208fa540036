// SPDX-License-Identifier: BSD-3-Clause
// What the suites of messages in few commands share (sluice/stream_message.h).
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory.h"
#include "module_under_test.h"
#include "pattern.h"
#include "shared_page.h"
#include "stream_case.h"
#include "stream_message_under_test.h"

namespace conformance {

// Longer than what one block copies, and not a multiple of anything.
inline constexpr size_t kMost = 200003;
inline constexpr size_t kFilled = 0;
inline constexpr size_t kTaken = 8;
inline constexpr size_t kGate = 16;

// One message by itself.
inline sluice_result_t send(sluice_stream_t *stream, const sluice_stream_send_t &one) {
  sluice_stream_enqueued_t enqueued = {7, 7};
  const sluice_result_t result = stream_message()->send(stream, &one, 1, &enqueued);
  EXPECT_EQ(enqueued.n_messages, result == SLUICE_SUCCESS ? 1U : 0U);
  EXPECT_EQ(enqueued.n_commands != 0, result == SLUICE_SUCCESS);
  return result;
}
inline sluice_result_t receive(sluice_stream_t *stream, const sluice_stream_receive_t &one) {
  sluice_stream_enqueued_t enqueued = {7, 7};
  const sluice_result_t result = stream_message()->receive(stream, &one, 1, &enqueued);
  EXPECT_EQ(enqueued.n_messages, result == SLUICE_SUCCESS ? 1U : 0U);
  EXPECT_EQ(enqueued.n_commands != 0, result == SLUICE_SUCCESS);
  return result;
}

// A slot, a buffer on each side, and words; all of device 0.
class StreamMessageCase : public testing::Test {
 protected:
  void SetUp() override {
    if (stream_message() == nullptr) GTEST_SKIP() << "missing: a table for messages in few commands";
    if (!has_stream_groups()) GTEST_SKIP() << "missing: the group stream";
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
    if (problem.empty()) problem = pattern_mismatch(std::span(bytes).subspan(first, size), iteration);
    for (size_t i = 0; i < bytes.size() && problem.empty(); ++i) {
      const bool is_outside = i < first || i >= first + size;
      if (is_outside && bytes[i] != kPoison) problem = "byte " + std::to_string(i) + " outside was written";
    }
    return problem;
  }
  static std::byte *at(const Memory &memory, size_t offset) { return static_cast<std::byte *>(memory.data()) + offset; }

  // One unit: memory from there on, as far as a message may go.
  static sluice_units_t alone(const void *base, size_t size_bytes = kMost) { return {base, size_bytes, size_bytes}; }

  Memory sent_;
  Memory slot_;
  Memory received_;
  SharedPage words_;
  bool is_registered_ = false;
};

}  // namespace conformance
