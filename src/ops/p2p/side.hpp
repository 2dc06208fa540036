// SPDX-License-Identifier: BSD-3-Clause
// Side: the buffer of one side of a point-to-point operation: classified, planned, and made ready for the host MPI.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/statistics.hpp"
#include "base/trace.hpp"
#include "device/device_memory.hpp"
#include "device/place.hpp"
#include "ops/p2p/descriptor.hpp"
#include "ops/p2p/descriptor_landings.hpp"
#include "ops/p2p/pull.hpp"
#include "plan/plan.hpp"
#include "transfer/staged.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

// True when nothing that Sluice does can be needed: no backend is loaded here, no other rank sends descriptors, and
// nothing is counted. Hot: the whole cost of
// host traffic.
[[nodiscard]] inline bool is_plain_host_traffic() noexcept {
  return !wire::Channel::process().is_open() && !statistics::is_enabled() && device::loaded_backends().empty();
}

class Side {
 public:
  // Classify and plan. A side that goes to the host MPI unread (host memory, nothing to move, or arguments that are for
  // the host MPI to refuse: a negative count, an invalid type) is no error and is not staged. `peer` is the rank on the
  // other side: nothing is staged for MPI_PROC_NULL.
  [[nodiscard]] static Status of(const void *buffer, MPI_Count count, MPI_Datatype type, int peer, Side *side);

  // As `of` where no descriptor can come, and nothing is cut: partitioned communication, in either direction.
  [[nodiscard]] static Status of_plain(const void *buffer, MPI_Count count, MPI_Datatype type, int peer, Side *side);

  // As above for a side that nothing is received into. `comm`: where `peer` is, if the message may travel as a
  // descriptor; else MPI_COMM_NULL.
  enum class Sending : std::uint8_t { kOnce, kStandardBlocking, kPersistent };
  [[nodiscard]] static Status of_outgoing(const void *buffer, MPI_Count count, MPI_Datatype type, int peer,
                                          MPI_Comm comm, Side *side, Sending sending = Sending::kOnce);

  // As `of` for a matched message, whose peer is known to exist.
  [[nodiscard]] static Status of_matched(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message message,
                                         Side *side);

  [[nodiscard]] bool is_staged() const noexcept { return plan_.route == Route::kStaged; }
  // Sent as a descriptor (Outgoing).
  [[nodiscard]] bool is_described() const noexcept {
    return plan_.route == Route::kIpc || plan_.route == Route::kPipelined;
  }
  // Received into, and a descriptor may come (Incoming).
  [[nodiscard]] bool may_meet_descriptor() const noexcept { return may_meet_descriptor_; }
  // Such a side that is shorter than a descriptor: the host MPI receives into room of ours.
  [[nodiscard]] bool is_short() const noexcept { return is_short_; }
  // The receiving end of a side that is described, as a rank in MPI_COMM_WORLD.
  [[nodiscard]] int world_peer() const noexcept { return world_peer_; }
  [[nodiscard]] const transfer::Region &region() const noexcept { return region_; }
  [[nodiscard]] StagingMemory staging_memory() const noexcept { return plan_.staging_memory; }
  // The same buffer to be sent from; without staging memory.
  [[nodiscard]] Side outgoing_copy() const;
  // The same for a message to a peer that must not be sent a descriptor; planned, and without staging memory.
  [[nodiscard]] Side plain_copy() const;
  // Of a side that is described: the one run of bytes that it travels as, the program's own or what a kernel packs.
  [[nodiscard]] const transfer::Region &payload() const noexcept {
    return packed_.data() != nullptr ? payload_ : region_;
  }
  // Takes device memory for a payload with gaps; and packs what is in the program's buffer now. Nothing to do for one
  // without. Block. Errors: no memory, no kernel, those of the runtime.
  [[nodiscard]] Status open_packed_payload();
  [[nodiscard]] Status pack_payload() const;
  // Plans again for a payload that turned out not to be packed by a kernel: staged.
  void plan_without_packing();
  // Plans again for memory that turned out not to be exportable.
  void plan_without_ipc();
  // After the host MPI's part of a receive, which brought `came_bytes` from `sender` of MPI_COMM_WORLD (-1: somebody
  // else): what came. Where a descriptor came to lie in the program's own buffer, the bytes that were there are put
  // back. Of a flawed one *why is the error to end with. Once for each message.
  [[nodiscard]] Arrival read_arrival(std::uint64_t came_bytes, int sender, Descriptor *descriptor, Status *why);
  // Where what the descriptor describes is to go. Valid as long as this side stays where it is.
  [[nodiscard]] Landing landing() const;
  [[nodiscard]] MemoryKind kind() const noexcept { return kind_; }
  [[nodiscard]] Route route() const noexcept { return plan_.route; }

  // Execute, the part before the host MPI's call. open() takes staging memory; copy_down() brings the payload into it.
  // `Count` is the count type of the host MPI's function that will be called. Only for a staged side. Block.
  template <typename Count>
  [[nodiscard]] Status open() {
    return open(static_cast<std::uint64_t>(std::numeric_limits<Count>::max()));
  }
  // The same for what is only received into: a long one takes staging memory only where a plain message is expected.
  template <typename Count>
  [[nodiscard]] Status open_to_receive() {
    if (is_long_receive()) staged_.prefer(expected_room());
    return open<Count>();
  }
  [[nodiscard]] Status copy_down() const;
  template <typename Count>
  [[nodiscard]] Status open_and_copy_down() {
    Status status = open<Count>();
    return status.is_ok() ? copy_down() : status;
  }
  // The part after it: brings the `came_bytes` that `operation` received, as *status says too, up into the program's
  // buffer. Nothing for a side that is not staged nor short. kTruncated, and the status says how much fitted, when a
  // short one was sent more.
  [[nodiscard]] Status copy_up(Operation operation, std::uint64_t came_bytes, MPI_Status *status) const;
  // The same without a message: all that a staged side has room for.
  [[nodiscard]] Status copy_up_unpacked() const {
    return is_staged() ? staged_.copy_up(region_.size_bytes()) : Status();
  }
  // The same for a staging memory that holds what is to be in the buffer to its last byte, unless it was cancelled.
  [[nodiscard]] Status copy_up_whole(Operation operation, const MPI_Status &status) const;

  // Parts of a side that is no image: `count` elements from element `first` on (transfer::Staged). Block. Any thread.
  [[nodiscard]] Status copy_elements_down(std::int64_t first, std::int64_t count) const {
    return staged_.copy_elements_down(first, count);
  }
  [[nodiscard]] Status copy_elements_up(std::int64_t first, std::int64_t count) const {
    return staged_.copy_elements_up(first, count);
  }

  // For the trace. What a side is sent as; before copy_down().
  void name_message(Operation operation, int dest, int tag) noexcept { message_ = {operation, dest, tag}; }
  // A staged payload is with the host MPI, from now on; it is no more; or it was another's descriptor after all.
  // From begin_wire() on a receive may write to the buffer. Before the host MPI is given the side's arguments.
  void begin_wire() {
    keep_head();
    if (is_staged()) wire_.begin();
  }
  // Of a receive into a buffer that nothing may be put in the place of, from here on: one that is sent from, too, or
  // that a persistent request names. `is_safe`: it is to have its beginning for itself, or room of its own now.
  void stay(bool is_safe);
  // All that has come is in place: others may have the buffer's beginning, or write to it.
  void release_head() noexcept {
    if (stays_) {
      head_.set_open(false);
    } else {
      head_.release();
    }
  }
  // After a descriptor's payload of `came_bytes` has come: brings it from room of ours into the program's buffer, if it
  // lies there.
  void leave_room(std::uint64_t came_bytes) const noexcept;
  // Nothing that comes into another receive can lie on a descriptor that came into this one; claims the beginning of
  // the buffer for that if it has to. Within a turn.
  [[nodiscard]] bool is_safe();

  void end_sent() noexcept {
    if (wire_.is_begun()) wire_.end(trace::Lane::kWire, message_, {size_bytes()});
  }
  void end_received(Operation operation, const MPI_Status &status) noexcept;
  void abandon_wire() noexcept { wire_.abandon(); }

  // What the host MPI is given: the program's own arguments, or memory of ours. A packed payload, and what comes into a
  // short side, travels as MPI_PACKED, which matches every type; an image by the program's own type. `Count` is int or
  // MPI_Count, as the MPI function has it.
  [[nodiscard]] void *buffer() const noexcept {
    if (!is_staged()) return lands_apart() ? room() : buffer_;
    if (plan_.form == plan::Form::kImage) return staged_.image_origin();
    // What is sent by the program's type lies as far from the address as in the program's buffer.
    return plan_.form == plan::Form::kPlain ? transfer::at(staged_.data(), -run_offset_bytes_) : staged_.data();
  }
  template <typename Count>
  [[nodiscard]] Count count() const noexcept {
    if (is_short_) return static_cast<Count>(kDescriptorBytes);
    return static_cast<Count>(room_ != nullptr ? static_cast<MPI_Count>(region_.size_bytes()) : message_count_);
  }
  [[nodiscard]] MPI_Datatype type() const noexcept { return lands_apart() ? MPI_PACKED : message_type_; }

  // Counts one call in the statistics; `bytes` of payload, or the whole side's.
  void record(Operation operation, std::uint64_t bytes, std::chrono::nanoseconds time) const noexcept {
    statistics::record(operation, kind_, plan_.route, 1, bytes, time);
  }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept;

 private:
  enum class Use : std::uint8_t { kReceived, kSent, kPlain };
  [[nodiscard]] Status classify(MPI_Count count, Use use);
  void find_peer(int peer, MPI_Comm comm, Sending sending);
  void choose_route();
  void choose_runs();
  [[nodiscard]] Status copy_up_bytes(Operation operation, const MPI_Status &status, std::uint64_t size_bytes) const;
  void keep_head();
  void claim_head();
  // A descriptor may come, and what else may is long.
  [[nodiscard]] bool is_long_receive() const noexcept;
  [[nodiscard]] transfer::Staged::Room expected_room() const noexcept;
  // Of a staged side, which `came_bytes` came to.
  [[nodiscard]] Arrival look_at(std::uint64_t came_bytes, int sender, Descriptor *descriptor, Status *why) const;
  void note_arrival(std::uint64_t came_bytes, bool is_described) noexcept;
  // The host MPI can receive a descriptor into the program's buffer by the program's type.
  [[nodiscard]] bool takes_descriptor() const noexcept;
  // The host MPI receives into room of ours.
  [[nodiscard]] bool lands_apart() const noexcept { return is_short_ || room_ != nullptr; }
  [[nodiscard]] std::byte *room() const noexcept { return is_short_ ? landing_.bytes : room_.get(); }
  void name_buffer(const void *buffer, MPI_Count count, MPI_Datatype type);
  [[nodiscard]] bool is_wrong_null() const noexcept;
  [[nodiscard]] Status open(std::uint64_t largest_count);

  void *buffer_ = nullptr;
  MPI_Count message_count_ = 0;
  MPI_Datatype message_type_{};
  MemoryKind kind_ = MemoryKind::kHost;
  std::int64_t run_offset_bytes_ = 0;  // from the program's address to the payload, where that is one run elsewhere
  bool may_meet_descriptor_ = false;
  bool is_short_ = false;
  int source_ = MPI_PROC_NULL;  // of a receive, as the program names it
  int world_peer_ = -1;
  plan::Query query_;
  plan::Plan plan_;
  transfer::Region region_;
  transfer::Staged staged_;
  device::DeviceMemory packed_;  // of a described side with gaps
  transfer::Region payload_;     // what lies there
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
