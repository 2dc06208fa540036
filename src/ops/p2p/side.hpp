// SPDX-License-Identifier: BSD-3-Clause
// Side: a Buffer made ready for the host MPI: staged, or open for what a descriptor describes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/trace.hpp"
#include "ops/p2p/buffer.hpp"
#include "ops/p2p/descriptor.hpp"
#include "ops/p2p/descriptor_landings.hpp"
#include "ops/p2p/pull.hpp"
#include "transfer/staged.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// One thread at a time, but for what says otherwise.
class Side : public Buffer {
 public:
  Side() = default;
  // Of a buffer that is staged to be sent, or goes to the host MPI unread.
  explicit Side(Buffer buffer) : Buffer(std::move(buffer)) {}

  // Met by a descriptor, maybe, which is longer than this: the host MPI receives into room of ours.
  [[nodiscard]] bool is_short() const noexcept {
    return may_meet_descriptor() && region().size_bytes() < kDescriptorBytes;
  }
  // After the host MPI's part of a receive, which brought `came_bytes` from `sender` of MPI_COMM_WORLD (-1: somebody
  // else): what came. Where a descriptor came to lie in the program's own buffer, the bytes that were there are put
  // back. Of a flawed one *why is the error to end with. Once for each message.
  [[nodiscard]] Arrival read_arrival(std::uint64_t came_bytes, int sender, Descriptor *descriptor, Status *why);
  // Where what the descriptor describes is to go. Valid as long as this side stays where it is.
  [[nodiscard]] Landing landing() const;

  // Execute, the part before the host MPI's call. open() takes staging memory, or what the plan of an undecided side
  // says; copy_down() brings the payload into it.
  // `has_large_count`: the host MPI's function that will be called counts by MPI_Count, not by int. Only for a staged
  // side. Block. Errors: no memory, kUnsupported (more than an int counts), those of the runtime.
  [[nodiscard]] Status open(bool has_large_count);
  [[nodiscard]] Status copy_down() const;
  [[nodiscard]] Status open_and_copy_down(bool has_large_count) {
    Status status = open(has_large_count);
    return status.is_ok() ? copy_down() : status;
  }
  // The part after it: brings the `came_bytes` that `operation` received, as *status says too, up into the program's
  // buffer. Nothing for a side that is not staged nor short. Blocks. Errors: kTruncated, and the status says how much
  // fitted, when a short one was sent more; those of transfer::Staged.
  [[nodiscard]] Status copy_up(Operation operation, std::uint64_t came_bytes, MPI_Status *status) const;
  // The same without a message: all that a staged side has room for.
  [[nodiscard]] Status copy_up_unpacked() const {
    return is_staged() ? staged_.copy_up(region().size_bytes()) : Status();
  }
  // The same for a staging memory that holds what is to be in the buffer to its last byte, unless it was cancelled.
  // Errors: those of transfer::Staged.
  [[nodiscard]] Status copy_up_whole(Operation operation, const MPI_Status &status) const;

  // Parts of a side that is no image: `count` elements from element `first` on (transfer::Staged). Block. Any thread.
  // Errors: those of the runtime.
  [[nodiscard]] Status copy_elements_down(std::int64_t first, std::int64_t count) const {
    return staged_.copy_elements_down(first, count);
  }
  [[nodiscard]] Status copy_elements_up(std::int64_t first, std::int64_t count) const {
    return staged_.copy_elements_up(first, count);
  }

  // For the trace. What a side is sent as; before copy_down().
  void name_message(Operation operation, int dest, int tag) noexcept { message_ = {operation, dest, tag}; }
  [[nodiscard]] const trace::Message &message() const noexcept { return message_; }
  // Before the host MPI is given the side's arguments: from now on a staged payload is with the host MPI, and a receive
  // may write to the buffer. end_sent() and end_received() say that the host MPI has done with it; abandon_wire() says
  // that a descriptor came instead.
  void begin_wire() {
    keep_head();
    if (is_staged()) wire_.begin();
  }
  // What the host MPI is given for this receive stays the same from here on: the program's buffer, or room of Sluice's
  // that stands for it. For a buffer that is sent from, too, and for a persistent request. `is_safe`: the receive is to
  // have the beginning of the buffer for itself, or has room of its own now.
  void stay(bool is_safe);
  // All that has come is in place. Other receives may claim the buffer's beginning, or write to it.
  void release_head() noexcept {
    if (stays_) {
      head_.set_open(false);
    } else {
      head_.release();
    }
  }
  // After a descriptor's payload of `came_bytes` has come: brings what of it lies in room of ours (landing()) into the
  // program's buffer.
  void leave_room_described(std::uint64_t came_bytes) const noexcept;
  // True: no message of another receive can be written over a descriptor that came into this one. Claims the beginning
  // of the buffer, if that takes it. Within a turn.
  [[nodiscard]] bool is_safe();

  // The host MPI has done with the side. The side's span of the trace ends, if one has begun.
  void end_sent() noexcept {
    if (wire_.is_begun()) wire_.end(trace::Lane::kWire, message_, {size_bytes()});
  }
  void end_received(Operation operation, const MPI_Status &status) noexcept;
  void abandon_wire() noexcept { wire_.abandon(); }

  // What the host MPI is given: the program's own arguments, or memory of ours. A packed payload, and what comes into a
  // short side, travels as MPI_PACKED, which matches every type; an image by the program's own type.
  [[nodiscard]] void *buffer() const noexcept {
    if (!is_staged()) return lands_apart() ? room() : address();
    if (plan().form == plan::Form::kImage) return staged_.image_origin();
    // What is sent by the program's type lies as far from the address as in the program's buffer.
    return plan().form == plan::Form::kPlain ? transfer::at(staged_.data(), -run_offset_bytes()) : staged_.data();
  }
  [[nodiscard]] MPI_Count count() const noexcept {
    if (is_short()) return static_cast<MPI_Count>(kDescriptorBytes);
    return travels_as_bytes() ? static_cast<MPI_Count>(region().size_bytes()) : given_count();
  }
  [[nodiscard]] MPI_Datatype type() const noexcept { return travels_as_bytes() ? MPI_PACKED : given_type(); }
  // The same in *part, in the place of the program's arguments.
  void put_into(p2p::Part *part) const noexcept {
    part->buffer = buffer();
    part->count = count();
    part->type = type();
  }

 private:
  // The host MPI is given bytes of ours in the place of elements of the program's type.
  [[nodiscard]] bool travels_as_bytes() const noexcept {
    return is_staged() ? plan().form == plan::Form::kPacked || is_short() : lands_apart();
  }
  [[nodiscard]] Status copy_up_bytes(Operation operation, const MPI_Status &status, std::uint64_t size_bytes) const;
  // From room of ours into the program's buffer, if the first `came_bytes` lie there.
  void leave_room(std::uint64_t came_bytes) const noexcept;
  // A descriptor's payload goes to where it belongs, but for what another descriptor may lie in.
  [[nodiscard]] bool lands_around_head() const noexcept { return room_ != nullptr && region().layout->is_contiguous; }
  void keep_head();
  void claim_head();
  // Of a staged side, which `came_bytes` came to.
  [[nodiscard]] Arrival look_at(std::uint64_t came_bytes, int sender, Descriptor *descriptor, Status *why) const;
  void note_arrival(std::uint64_t came_bytes, bool is_described) noexcept;
  // The host MPI can receive a descriptor into the program's buffer by the program's type.
  [[nodiscard]] bool takes_descriptor() const noexcept;
  // The host MPI receives into room of ours.
  [[nodiscard]] bool lands_apart() const noexcept { return is_short() || room_ != nullptr; }
  [[nodiscard]] std::byte *room() const noexcept { return is_short() ? landing_.bytes : room_.get(); }

  transfer::Staged staged_;
  // Of a side that a descriptor may come to. A short one of host memory: the host MPI writes here. A longer one of host
  // memory: what was in its place before.
  mutable DescriptorMessage landing_;
  LandingClaim head_;                  // of a side of host memory into which the host MPI writes
  std::unique_ptr<std::byte[]> room_;  // of one whose beginning is another's
  bool stays_ = false;
  trace::Message message_;
  trace::Span wire_;
};

}  // namespace sluice::ops
