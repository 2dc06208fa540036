// SPDX-License-Identifier: BSD-3-Clause
// The choice of the sender of a queue's message inside a node: its stream, or its progress thread (docs/adr/0033).
// Pure. The sender's alone: the receiver does the same either way.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::plan {

// Message `number`, counted from 1 on its channel.
struct StreamMessage {
  std::uint64_t number = 0;
  std::uint64_t size_bytes = 0;
  bool is_one_run_of_device_memory = false;  // of the stream's own device
};

// The channel as the sender sees it while it enqueues.
struct StreamChannel {
  bool is_mapped = false;        // the receiver's slots and words, for the stream's device
  std::uint64_t first = 0;       // the first message that the receiver's stream looks for in a slot
  std::uint64_t slot_bytes = 0;  // of one slot
  std::uint64_t n_slots = 0;
  std::uint64_t n_words = 0;
  std::uint64_t taken = 0;  // messages that are out of their slots
  std::uint64_t seen = 0;   // messages that the receiver's progress thread knows to be complete
};

struct StreamChoice {
  bool is_by_stream = false;
  std::string_view reason;
};

// Credits are looked at, and never waited for by the stream: at the start of a batch it waits for nothing, so nothing
// of the program's that comes behind can be held up by it.
[[nodiscard]] constexpr StreamChoice choose_stream(const StreamMessage &message,
                                                   const StreamChannel &channel) noexcept {
  if (!channel.is_mapped) return {false, "the receiver's slots are not mapped"};
  if (!message.is_one_run_of_device_memory) return {false, "no run of memory of the stream's device"};
  if (message.number < channel.first) return {false, "the receiver's stream does not look for it"};
  if (message.size_bytes > channel.slot_bytes) return {false, "longer than a slot"};
  if (message.number > channel.taken + channel.n_slots) return {false, "its slot is not known to be empty"};
  if (message.number > channel.seen + channel.n_words) return {false, "its word is not known to be free"};
  return {true, "a slot is there for it"};
}

}  // namespace sluice::plan
