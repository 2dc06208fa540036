// SPDX-License-Identifier: BSD-3-Clause
// The two ends of a channel of the engine `device` (docs/adr/0033): messages of one sender to one receiver with one tag
// on one communicator, numbered from 1 by each side for itself. Both count alike, so a number names a message.
//
// The receiver has memory, the slots, of which the sender gives each message a run of units; only the sender knows
// which are free. They are its device's, exported; where that cannot be, they lie behind the words, in memory of the
// host (plan::choose_slots). Words that the two share: `taken`, the newest message that is out of its slot, which the
// receiver's side writes; `seen`, the newest that the receiver's progress thread knows to be complete; and a ring of
// words `filled`, in which message k writes number, place and length, k << 32 | unit << 24 | bytes. A message that the
// progress threads bring says a length of 0 there, when its data is in the receiver's buffer: its stream goes on with a
// copy of nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <tuple>

#include "base/status.hpp"
#include "device/device_memory.hpp"
#include "device/ipc_imports.hpp"
#include "device/place.hpp"
#include "device/stream.hpp"
#include "ops/queue/shared_words.hpp"
#include "plan/stream_channel.hpp"
#include "sluice/backend.h"
#include "wire/shared_segment.hpp"

namespace sluice::ops::queue {

// Numbers have 31 bits: waits are for values below 2^63.
inline constexpr std::uint64_t kMostNumbered = (std::uint64_t{1} << 31U) - 1;

// Names a channel in this process. Any thread may read it.
struct ChannelKey {
  int peer = -1;  // rank in MPI_COMM_WORLD
  std::uint32_t comm = 0;
  int tag = 0;
  std::uint32_t captured = 0;  // 0: of messages in streams; n: of the n-th one that was captured into a graph
  auto operator<=>(const ChannelKey &) const = default;

  // The channel of a window's signals: `comm` is the window's number among those of its first rank, which the tag
  // names. No message of a communicator has a negative tag.
  [[nodiscard]] static ChannelKey of_signals(int peer, std::uint32_t window, int first_rank) noexcept {
    return {peer, window, -1 - first_rank, 0};
  }
  [[nodiscard]] bool is_of_signals() const noexcept { return tag < 0; }
};

// Where what lies in the shared words; a line of its own for what different devices write. Pure.
struct ChannelWords {
  static constexpr std::size_t kTaken = 0;
  static constexpr std::size_t kSeen = 16;
  static constexpr std::size_t kFilled = 32;
  static constexpr std::uint64_t kRing = 256;
  static constexpr std::size_t kCount = kFilled + kRing;
  [[nodiscard]] static constexpr std::size_t filled(std::uint64_t number) noexcept {
    return kFilled + static_cast<std::size_t>(number % kRing);
  }
  // What the word of message `number` says, and its parts. Of any place and length it is at least mark(number), and
  // less than that of the next message.
  [[nodiscard]] static constexpr std::uint64_t mark(std::uint64_t number, std::uint64_t unit = 0,
                                                    std::uint64_t size_bytes = 0) noexcept {
    return number << 32U | unit << SLUICE_LENGTH_BITS | size_bytes;
  }
  [[nodiscard]] static constexpr std::uint64_t number_of(std::uint64_t word) noexcept { return word >> 32U; }
  [[nodiscard]] static constexpr std::uint64_t unit_of(std::uint64_t word) noexcept {
    return (word & 0xFFFFFFFFU) >> SLUICE_LENGTH_BITS;
  }
  [[nodiscard]] static constexpr std::uint64_t length_of(std::uint64_t word) noexcept {
    return word & ((std::uint64_t{1} << SLUICE_LENGTH_BITS) - 1);
  }
};

// What the receiver tells the sender of its slots.
struct SlotOffer {
  std::uint64_t first = 0;  // the first message that its stream looks for there
  plan::UnitSizes sizes;
  std::uint64_t is_in_host = 0;    // 1: they lie behind the words, and what follows but their length means nothing
  std::uint64_t offset_bytes = 0;  // of the slots, in their allocation
  std::uint64_t allocation_bytes = 0;
  std::uint64_t base_address = 0;  // of the allocation, in the receiver; names it for the cache of mappings
  sluice_ipc_handle_t handle{};
};

// One thread at a time (the lock of Channels), but for what is said to be atomic.
class ChannelEnd {
 public:
  explicit ChannelEnd(const ChannelKey &named) noexcept : key(named) {}

  // Gives the next message a number, which a stream of `native` is to carry. Errors: another stream has messages on the
  // channel that are not complete; the numbers are used up.
  [[nodiscard]] Status number_next(const void *native, std::uint64_t *number);
  void complete_one() noexcept { --n_incomplete; }

  const ChannelKey key;
  std::uint64_t last = 0;          // the newest number given
  std::uint64_t n_incomplete = 0;  // of the messages that have a number
  const void *user = nullptr;      // the stream that carries them
  std::uint32_t sender_id = 0;     // names the channel in messages to the receiver; 0: not known yet
  // Of a message of a graph: this side's length and the other's, and what its kernel reads (sluice_captured_end_t).
  std::uint64_t own_bytes = 0;
  std::uint64_t peer_bytes = 0;
  device::DeviceMemory captured;
  SharedWords words;
};

// The sender's end. Threads: as ChannelEnd.
class SenderEnd : public ChannelEnd {
 public:
  using ChannelEnd::ChannelEnd;

  // What the receiver said, checked: its words are mapped from here on, by the CPU. Errors: it makes no sense.
  [[nodiscard]] Status take_offer(const SlotOffer &told, const wire::SegmentName &words_name);
  [[nodiscard]] bool is_offered() const noexcept { return words.is_open(); }
  // Maps the slots for `stream`'s device, if they are not. Errors: there are none, or not now: what cannot be reached
  // now may be later.
  [[nodiscard]] Status map(const device::Stream &stream);
  // The same, quietly.
  void map_for(const device::Stream &stream);
  [[nodiscard]] bool is_mapped_for(const device::Stream &stream) const noexcept {
    return slots_begin_ != nullptr && backend_ == &stream.backend() && device_ == stream.device();
  }
  // Whether the stream is to carry it, as plan::choose_stream() has it; then it has its run of units until it is taken,
  // whoever brings it in the end.
  [[nodiscard]] plan::StreamChoice choose(const device::Stream &stream, const plan::StreamMessage &message);
  // As plan::batches_with_room(), where the stream's messages can find any.
  [[nodiscard]] std::uint64_t batches_with_room(const device::Stream &stream, std::uint64_t size_bytes) const noexcept {
    return is_mapped_for(stream) ? plan::batches_with_room(size_bytes, offer_.sizes) : plan::kNoLimit;
  }
  // What the stream is to do for it then.
  [[nodiscard]] sluice_stream_send_t command(const plan::StreamMessage &message, const plan::StreamChoice &choice,
                                             const void *data) const;
  // Where the slots are for that device; mapped.
  [[nodiscard]] std::byte *slots_begin() const noexcept { return slots_begin_; }
  [[nodiscard]] std::uint64_t slot_bytes() const noexcept { return offer_.sizes.unit_bytes; }
  [[nodiscard]] std::uint64_t n_slots() const noexcept { return offer_.sizes.n_units; }
  // Unmaps the slots; nothing is under way.
  void let_go() noexcept {
    slots_begin_ = nullptr;
    slots_.reset();
  }
  // The stream has written it to its slot. Atomic.
  [[nodiscard]] bool is_gone(std::uint64_t number) const noexcept {
    return words.get(ChannelWords::filled(number)) >= ChannelWords::mark(number);
  }

 private:
  SlotOffer offer_;
  device::ImportedPtr slots_;         // none where they lie in the host's memory
  std::byte *slots_begin_ = nullptr;  // null: not mapped
  // What the words said last, `taken` by what of the ring is in use. They only grow, and others write them: a look
  // costs a cache miss, so there is one only where this is not enough.
  plan::UnitRing ring_;
  std::uint64_t known_seen_ = 0;
  const device::Backend *backend_ = nullptr;  // that they are mapped for
  std::int32_t device_ = 0;
};

// The receiver's end. Threads: as ChannelEnd.
class ReceiverEnd : public ChannelEnd {
 public:
  using ChannelEnd::ChannelEnd;
  ~ReceiverEnd() { remove_name(); }
  ReceiverEnd(const ReceiverEnd &) = delete;
  ReceiverEnd &operator=(const ReceiverEnd &) = delete;
  ReceiverEnd(ReceiverEnd &&) = delete;
  ReceiverEnd &operator=(ReceiverEnd &&) = delete;

  // Nobody else needs the name of the words; any more often than once does nothing.
  void remove_name() noexcept;

  // Makes slots of these sizes for `stream`'s device, unless there are some, or it was tried too often; message
  // `number` will be the first one there. Without slots, messages come by the threads.
  void make_slots(const device::Stream &stream, std::uint64_t number, const plan::UnitSizes &sizes);
  [[nodiscard]] bool has_slots() const noexcept { return offer.first != 0; }
  // Whether the stream looks for message `number` in a slot, or may.
  [[nodiscard]] bool is_looked_for(std::uint64_t number) const noexcept { return has_slots() && number >= offer.first; }
  // What takes message `number` out of its slot.
  [[nodiscard]] sluice_stream_receive_t command(std::uint64_t number, void *data, std::uint64_t size_bytes) const;
  // Whether so many bytes of the message that wrote the word lie in the slots: the sender may write any word.
  [[nodiscard]] bool holds(std::uint64_t word, std::uint64_t size_bytes) const noexcept {
    const std::uint64_t all_bytes = offer.sizes.n_units * offer.sizes.unit_bytes;
    const std::uint64_t first = ChannelWords::unit_of(word) * offer.sizes.unit_bytes;
    return first <= all_bytes && size_bytes <= all_bytes - first;
  }
  // Where the message lies that wrote the word; it holds() it.
  [[nodiscard]] const std::byte *slot(std::uint64_t word) const noexcept {
    return slots_begin() + static_cast<std::size_t>(ChannelWords::unit_of(word) * offer.sizes.unit_bytes);
  }
  [[nodiscard]] const device::Place &place() const noexcept { return place_; }
  [[nodiscard]] bool is_on_device_of(const device::Stream &stream) const noexcept {
    return place_.backend == &stream.backend() && place_.device == stream.device();
  }

  [[nodiscard]] std::byte *slots_begin() const noexcept {
    return offer.is_in_host != 0 ? words.behind() : slots_.data();
  }

  SlotOffer offer;
  wire::SegmentName words_name{};  // until the sender has opened it
  bool is_left = false;            // by the sender, which has unmapped the slots
  std::uint64_t settled = 0;       // up to here messages are complete, or the stream's
  std::uint64_t n_seen = 0;        // up to here they are complete
  // The last one that a stream waits for without taking it itself: it and those before it are the thread's.
  std::uint64_t awaited_of_thread = 0;
  // The one message that is received aside of a stream which was not told yet to wait for that, or 0; and the stream.
  // What comes next on the channel may only be taken by that one, which joins before.
  std::uint64_t aside = 0;
  const device::Stream *aside_of = nullptr;
  std::deque<std::uint64_t>
      by_thread;  // that the sender has sent by its thread, and for which no receive was posted yet

 private:
  [[nodiscard]] Status try_make_slots(const device::Stream &stream, const plan::UnitSizes &sizes);
  [[nodiscard]] plan::SlotChoice choose_slots() const noexcept;
  [[nodiscard]] Status make_words(std::uint64_t n_bytes_behind);
  [[nodiscard]] Status make_device_slots(std::uint64_t size_bytes);
  [[nodiscard]] Status make_host_slots(std::uint64_t size_bytes);
  device::DeviceMemory slots_;  // none where they lie in the host's memory
  device::Place place_;
  unsigned n_tries_ = 0;
  bool is_export_refused_ = false;
};

using SenderEndPtr = std::shared_ptr<SenderEnd>;
using ReceiverEndPtr = std::shared_ptr<ReceiverEnd>;

}  // namespace sluice::ops::queue
