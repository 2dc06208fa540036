// SPDX-License-Identifier: BSD-3-Clause
// The choice of the sender of a queue's message inside a node: its stream, or its progress thread, and where in the
// receiver's memory the stream puts it (docs/adr/0033). Pure. The sender's alone: the receiver does the same either
// way.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace sluice::plan {

// A channel's memory, in units of one length: a ring of which each message has a run. Runs are given one behind the
// other and come back in the same order; none goes on at the beginning where the end is reached, so the units that are
// left there are passed over.
class UnitRing {
 public:
  static constexpr std::uint64_t kMostUnits = 256;  // the number of one has 8 bits

  constexpr UnitRing() noexcept = default;
  // At most kMostUnits.
  constexpr explicit UnitRing(std::uint64_t n_units) noexcept : n_units_(n_units) {}

  // Where a run of that length, not 0, would begin; n_units() when there is no room for it.
  [[nodiscard]] constexpr std::uint64_t find(std::uint64_t length) const noexcept {
    if (n_runs_ == 0) return length <= n_units_ ? 0 : n_units_;
    const Run &newest = runs_[(oldest_ + n_runs_ - 1) % kMostUnits];
    const std::uint64_t used = runs_[oldest_].first;
    const std::uint64_t next = newest.first + newest.length;
    // What is free: one piece up to the oldest run, or one to the end and one at the beginning.
    if (newest.first < used) return length <= used - next ? next : n_units_;
    if (length <= n_units_ - next) return next;
    return length <= used ? 0 : n_units_;
  }
  // The run that find() named is message `number`'s. One that could not be started is given another when it is started
  // again, so numbers may come again, and after higher ones: a run only waits for those that were given before it.
  constexpr void give(std::uint64_t number, std::uint64_t first, std::uint64_t length) noexcept {
    runs_[(oldest_ + n_runs_) % kMostUnits] = {number, first, length};
    ++n_runs_;
  }
  // Nobody needs what messages up to `number` had.
  constexpr void take_back(std::uint64_t number) noexcept {
    for (; n_runs_ != 0 && runs_[oldest_].number <= number; --n_runs_) oldest_ = (oldest_ + 1) % kMostUnits;
  }
  [[nodiscard]] constexpr std::uint64_t n_units() const noexcept { return n_units_; }

 private:
  struct Run {
    std::uint64_t number = 0;
    std::uint64_t first = 0;
    std::uint64_t length = 0;
  };
  std::array<Run, kMostUnits> runs_{};  // a ring too: as many as there are units, each of one at least
  std::uint64_t oldest_ = 0;
  std::uint64_t n_runs_ = 0;
  std::uint64_t n_units_ = 0;
};

// The length of a message has 24 bits in the word that tells of it.
inline constexpr std::uint64_t kMostStreamBytes = (std::uint64_t{1} << 24U) - 1;
// So many of a channel's longest messages have room side by side.
inline constexpr std::uint64_t kLongestSideBySide = 4;

// How a channel's memory is divided. Units of any length but 0 do; those for copies are aligned.
struct UnitSizes {
  std::uint64_t unit_bytes = 0;
  std::uint64_t n_units = 0;
  [[nodiscard]] constexpr std::uint64_t most_bytes() const noexcept {
    const std::uint64_t part = n_units * unit_bytes / kLongestSideBySide;
    return part < kMostStreamBytes ? part : kMostStreamBytes;
  }
};
[[nodiscard]] constexpr UnitSizes divide(std::uint64_t size_bytes) noexcept {
  constexpr std::uint64_t kAligned = 256;
  const std::uint64_t whole = size_bytes / UnitRing::kMostUnits / kAligned * kAligned;
  const std::uint64_t unit_bytes = whole < kAligned ? kAligned : whole;
  const std::uint64_t n_units = size_bytes / unit_bytes;
  return {unit_bytes, n_units < UnitRing::kMostUnits ? n_units : UnitRing::kMostUnits};
}

// What a receiver says of its memory for a channel, in whichever allocation it lies.
struct SlotClaim {
  std::uint64_t first = 0;  // the first message that its stream looks for there
  UnitSizes sizes;
  bool is_in_host = false;  // behind the words, where there is nothing else
  std::uint64_t offset_bytes = 0;
  std::uint64_t allocation_bytes = 0;
};

// Whether that fits together; how long the allocation really is, only who maps it knows. `most_numbered`: the highest
// number of a message.
[[nodiscard]] constexpr bool is_sound(const SlotClaim &claim, std::uint64_t most_numbered) noexcept {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62U;
  const UnitSizes &sizes = claim.sizes;
  if (claim.first == 0 || claim.first > most_numbered || claim.allocation_bytes > kMostBytes) return false;
  if (sizes.n_units == 0 || sizes.n_units > UnitRing::kMostUnits || sizes.unit_bytes == 0) return false;
  if (sizes.unit_bytes > claim.allocation_bytes / sizes.n_units) return false;
  const std::uint64_t beside_bytes = claim.allocation_bytes - sizes.n_units * sizes.unit_bytes;
  return claim.is_in_host ? claim.offset_bytes == 0 && beside_bytes == 0 : claim.offset_bytes <= beside_bytes;
}

// Whether `size_bytes` that begin with unit `unit`, as a word of the sender's says, lie in the channel's memory.
[[nodiscard]] constexpr bool holds(const UnitSizes &sizes, std::uint64_t unit, std::uint64_t size_bytes) noexcept {
  return size_bytes == 0 || (unit < sizes.n_units && size_bytes <= (sizes.n_units - unit) * sizes.unit_bytes);
}

// How many batches a stream may be behind the one with a message of that length, so that the message finds room: a
// stream that has come to a batch has had the other side's message of the batch before, which went behind that side's
// receive of the one before that. At least 1; without limit for what needs no room.
inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
[[nodiscard]] constexpr std::uint64_t batches_with_room(std::uint64_t size_bytes, const UnitSizes &sizes) noexcept {
  constexpr std::uint64_t kNotSeenTaken = 2;
  if (size_bytes == 0 || size_bytes > sizes.most_bytes()) return kNoLimit;
  const std::uint64_t n_runs = sizes.n_units / ((size_bytes - 1) / sizes.unit_bytes + 1);
  return n_runs > kNotSeenTaken + 1 ? n_runs - kNotSeenTaken : 1;
}

// Where a channel's memory lies: on the receiver's device, exported; or behind its words, in memory of the host that
// both processes have mapped. The receiver's choice alone, which the sender is told.
enum class SlotMemory : std::uint8_t { kDevice, kHost };

// The receiver's device, and what it said of the memory for a channel.
struct SlotFacts {
  bool has_ipc = false;            // its backend has the group `ipc`
  bool is_never_exported = false;  // none of its memory can be exported
  bool is_refused = false;         // this memory could not be
};

struct SlotChoice {
  SlotMemory memory = SlotMemory::kDevice;
  std::string_view reason;
};

// The choice.
[[nodiscard]] constexpr SlotChoice choose_slots(const SlotFacts &facts) noexcept {
  if (!facts.has_ipc) return {SlotMemory::kHost, "the backend shares no device memory between processes"};
  if (facts.is_never_exported) return {SlotMemory::kHost, "none of the device's memory can be exported"};
  if (facts.is_refused) return {SlotMemory::kHost, "the device's memory could not be exported"};
  return {SlotMemory::kDevice, "the device's memory can be exported"};
}

// Message `number`, counted from 1 on its channel.
struct StreamMessage {
  std::uint64_t number = 0;
  std::uint64_t size_bytes = 0;
  bool is_one_run_of_device_memory = false;  // of the stream's own device
};

// The channel as the sender sees it while it enqueues.
struct StreamChannel {
  bool is_mapped = false;   // the receiver's memory and words, for the stream's device
  std::uint64_t first = 0;  // the first message that the receiver's stream looks for there
  UnitSizes sizes;
  std::uint64_t n_words = 0;
  std::uint64_t seen = 0;  // messages that the receiver's progress thread knows to be complete
};

struct StreamChoice {
  bool is_by_stream = false;
  std::string_view reason;
  std::uint64_t first_unit = 0;  // of its run; by stream
  std::uint64_t n_units = 0;
};

// `ring` has all runs whose messages may not be out of them. Room is looked for, and never waited for by the stream: at
// the start of a batch it waits for nothing, so nothing of the program's that comes behind can be held up by it.
[[nodiscard]] constexpr StreamChoice choose_stream(const StreamMessage &message, const StreamChannel &channel,
                                                   const UnitRing &ring) noexcept {
  if (!channel.is_mapped) return {false, "the receiver's memory is not mapped"};
  if (!message.is_one_run_of_device_memory) return {false, "no run of memory of the stream's device"};
  if (message.number < channel.first) return {false, "the receiver's stream does not look for it"};
  if (message.size_bytes > channel.sizes.most_bytes()) return {false, "longer than a quarter of the channel's memory"};
  if (message.number > channel.seen + channel.n_words) return {false, "its word is not known to be free"};
  if (message.size_bytes == 0) return {true, "it needs no room"};
  const std::uint64_t n_units = (message.size_bytes - 1) / channel.sizes.unit_bytes + 1;
  const std::uint64_t first = ring.find(n_units);
  if (first == ring.n_units()) return {false, "no run of units for it is known to be free"};
  return {true, "there is room for it", first, n_units};
}

}  // namespace sluice::plan
