// SPDX-License-Identifier: BSD-3-Clause
// Buffer: the memory that a program gives to one side of a point-to-point operation, classified and planned.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/statistics.hpp"
#include "base/waiting.hpp"
#include "device/place.hpp"
#include "plan/plan.hpp"
#include "transfer/region.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace p2p {

// One direction of a call (call.hpp): the memory that the program gives, and the other end. One thread at a time.
struct Part {
  void *buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int peer = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;

  void set_buffer(const void *address) noexcept {
    // Sending does not change the buffer; one pointer serves both directions.
    buffer = const_cast<void *>(address);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
};

}  // namespace p2p

// True when nothing that Sluice does can be needed: no backend is loaded here, no other rank sends descriptors, and
// nothing is counted. Hot: the whole cost of host traffic. Any thread.
[[nodiscard]] inline bool is_plain_host_traffic() noexcept {
  return !wire::Channel::process().is_open() && !statistics::is_enabled() && device::loaded_backends().empty();
}

// A value: it names the program's memory and holds nothing of Sluice's. What is staged or received into needs a Side.
// Nothing here blocks. Threads: any, for different buffers.
class Buffer {
 public:
  // Classify and plan. A buffer that goes to the host MPI unread (host memory, nothing to move, or arguments that are
  // for the host MPI to refuse: a negative count, an invalid type) is no error and is not staged. Nothing is staged for
  // the peer MPI_PROC_NULL. Errors of all: those of the runtime, and of layout_of(). State: *buffer is not to be used
  // then.

  // A buffer that a message from `peer` is received into. A descriptor may come instead of the payload.
  [[nodiscard]] static Status to_receive(const p2p::Part &part, int peer, Buffer *buffer);
  // A buffer of partitioned communication, sent from or received into. No descriptor can come, and nothing is cut into
  // blocks.
  [[nodiscard]] static Status of_plain(const void *address, MPI_Count count, MPI_Datatype type, int peer,
                                       Buffer *buffer);
  // A buffer that is only sent from. `comm`: the communicator of the peer, if the message may travel as a descriptor;
  // else MPI_COMM_NULL.
  enum class Sending : std::uint8_t { kOnce, kStandardBlocking, kPersistent };
  [[nodiscard]] static Status to_send(const p2p::Part &part, MPI_Comm comm, Buffer *buffer,
                                      Sending sending = Sending::kOnce);

  // The same buffer for a message to a peer that must not be sent a descriptor; planned.
  [[nodiscard]] Buffer to_send_plain() const;
  // A buffer that is received into, planned again as one to send: what lies in it is sent.
  [[nodiscard]] Buffer to_send_what_is_there() const;
  // The next four plan again before the buffer is opened. They only change the route: nothing fails, and nothing is
  // undone.
  // Of a buffer that one call both sends from and receives into: staged, whatever comes.
  void plan_to_replace();
  // No kernel packs the payload, as has turned out: staged.
  void plan_without_packing();
  // The memory cannot be exported, as has turned out.
  void plan_without_ipc();
  // Sluice has no exportable memory of its own either.
  void plan_without_relay();

  // The host MPI is given staging memory. An undecided receive counts as staged until its message shows how it came.
  [[nodiscard]] bool is_staged() const noexcept {
    return plan_.route == Route::kStaged || plan_.route == Route::kUndecided;
  }
  // Sent as a descriptor (Outgoing).
  [[nodiscard]] bool is_described() const noexcept {
    return plan_.route == Route::kIpc || plan_.route == Route::kRelayed || plan_.route == Route::kDirect ||
           plan_.route == Route::kPipelined;
  }
  // Received into, and a descriptor may come (Incoming).
  [[nodiscard]] bool may_meet_descriptor() const noexcept { return may_meet_descriptor_; }
  [[nodiscard]] Route route() const noexcept { return plan_.route; }
  [[nodiscard]] const plan::Plan &plan() const noexcept { return plan_; }
  [[nodiscard]] StagingMemory staging_memory() const noexcept { return plan_.staging_memory; }
  // The receiving end of a buffer that is described, as a rank in MPI_COMM_WORLD.
  [[nodiscard]] int world_peer() const noexcept { return world_peer_; }
  // Of a receive, as the program names it.
  [[nodiscard]] int source() const noexcept { return source_; }
  [[nodiscard]] MemoryKind kind() const noexcept { return kind_; }
  [[nodiscard]] const transfer::Region &region() const noexcept { return region_; }
  // Bytes from address() to the payload, where that is one run elsewhere.
  [[nodiscard]] std::int64_t run_offset_bytes() const noexcept { return run_offset_bytes_; }

  // As the program gave them.
  [[nodiscard]] void *address() const noexcept { return address_; }
  [[nodiscard]] MPI_Count given_count() const noexcept { return count_; }
  [[nodiscard]] MPI_Datatype given_type() const noexcept { return type_; }

  // Of payload. Where the buffer was not classified the host MPI is asked, if anything is counted; else 0.
  [[nodiscard]] std::uint64_t size_bytes() const noexcept;
  // For the table of waits: what an operation does with this buffer, and how many bytes, where that is known.
  void tell(Operation operation, waiting::Direction direction, waiting::Wait *wait) const noexcept {
    waiting::put(sluice::name(operation), &wait->function);
    wait->direction = direction;
    wait->route = static_cast<std::uint8_t>(route());
    const std::uint64_t known = region_.layout != nullptr ? region_.size_bytes() : 0;
    if (known != 0 || count_ == 0) wait->size_bytes = known;
  }
  // Counts one call in the statistics; `bytes` of payload, or the whole buffer's. What was undecided has come staged:
  // messages that are pulled are counted by their Pull's route.
  void record(Operation operation, std::uint64_t bytes, std::chrono::nanoseconds time) const noexcept {
    statistics::record(operation, kind_, is_staged() ? Route::kStaged : plan_.route, 1, bytes, time);
  }
  void record(Operation operation) const noexcept {
    if (statistics::is_enabled()) record(operation, size_bytes(), {});
  }

 private:
  enum class Use : std::uint8_t { kReceived, kSent, kPlain };
  void name(void *address, MPI_Count count, MPI_Datatype type) noexcept {
    address_ = address;
    count_ = count;
    type_ = type;
  }
  [[nodiscard]] Status classify(Use use);
  [[nodiscard]] Status ask_for_plan(Use use);
  [[nodiscard]] bool may_be_described(Sending sending) const;
  void find_peer(int peer, MPI_Comm comm, Sending sending);
  void choose_route();
  void choose_runs();
  [[nodiscard]] bool is_wrong_null() const noexcept;

  void *address_ = nullptr;
  MPI_Count count_ = 0;
  MPI_Datatype type_{};
  MemoryKind kind_ = MemoryKind::kHost;
  bool may_meet_descriptor_ = false;
  int source_ = MPI_PROC_NULL;
  int world_peer_ = -1;
  std::int64_t run_offset_bytes_ = 0;
  plan::Query query_;
  plan::Plan plan_;
  transfer::Region region_;
};

}  // namespace sluice::ops
