// SPDX-License-Identifier: BSD-3-Clause
// Pull: the receiver's part of a message that came as a descriptor: brings the payload to where the program wants it,
// then tells the sender.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "device/copy_batch.hpp"
#include "device/ipc_imports.hpp"
#include "ops/p2p/block_stream.hpp"
#include "ops/p2p/descriptor.hpp"
#include "ops/p2p/direct.hpp"
#include "ops/p2p/relay.hpp"
#include "progress/engine.hpp"
#include "transfer/staged.hpp"

namespace sluice::ops {

// Where a receive wants its payload.
struct Landing {
  transfer::Region region;                   // the program's buffer
  std::byte *staging = nullptr;              // room for the packed payload; null where there is none
  const transfer::Staged *staged = nullptr;  // what brings `staging` up into a device region; null for host memory
  StagingMemory staging_memory = StagingMemory::kMalloc;
  // Of a region whose beginning another receive's descriptor may lie in: the first kDescriptorBytes go here instead.
  // Null where the whole region is this receive's.
  std::byte *head = nullptr;
};

// What a receive ends with that has room for `room_bytes`, when `came_bytes` came. Errors: always that one, kTruncated.
// Pure.
[[nodiscard]] Status truncated(std::uint64_t came_bytes, std::uint64_t room_bytes);

// Threads: any for is_settled(), and for what it came to once that is true. The engine's turns for advance(), which are
// one at a time.
class Pull final : public progress::Task {
 public:
  // `landing` stays valid until is_settled(). `descriptor` is sound; it came to `operation` from `source` with `tag`.
  Pull(const Descriptor &descriptor, const Landing &landing, Operation operation, int source, int tag);
  ~Pull() override;

  // Done when the host MPI has the acknowledgement, too.
  [[nodiscard]] bool advance() override;

  // The payload is in place, or an error is known; the sender has been told. Any thread.
  [[nodiscard]] bool is_settled() const noexcept { return is_settled_.load(std::memory_order_acquire); }
  // Once settled: what happened (kTruncated when the message was longer than the receive), how much came, by which way.
  [[nodiscard]] const Status &outcome() const noexcept { return outcome_; }
  [[nodiscard]] std::uint64_t received_bytes() const noexcept { return wanted_bytes_; }
  [[nodiscard]] Route route() const noexcept { return route_; }

 private:
  enum class State : std::uint8_t { kNew, kCopying, kRelaying, kDirect, kStreaming, kAcknowledging };
  void begin();
  [[nodiscard]] bool has_same_runtime() const;
  [[nodiscard]] Status open_source(const std::byte **source);
  [[nodiscard]] Status begin_copy(bool *is_begun);
  [[nodiscard]] Status begin_relay(bool *is_begun);
  [[nodiscard]] bool begin_directly();
  void poll_directly();
  void stream_instead();
  [[nodiscard]] bool begin_kernel(const std::byte *source);
  [[nodiscard]] Status enqueue_kernel(std::byte *lowest, bool *is_refused);
  void poll_copy();
  [[nodiscard]] Status poll_batches(bool *is_done);
  void poll_unpacking();
  void fall_back(const Status &why);
  [[nodiscard]] Status begin_stream();
  [[nodiscard]] Status ask(Control::Kind kind, std::uint64_t n_blocks);
  void finish_stream();
  void acknowledge(Status outcome);
  [[nodiscard]] bool is_sent();

  const Descriptor descriptor_;
  const Landing landing_;
  const trace::Message message_;
  std::uint64_t wanted_bytes_ = 0;  // what fits
  State state_ = State::kNew;
  Route route_ = Route::kPipelined;
  // route ipc
  device::ImportedPtr imported_;
  sluice_copy_t piece_{};
  std::shared_ptr<device::CopyBatch> batch_;
  sluice_copy_t head_piece_{};  // of a landing with a head: goes there
  std::shared_ptr<device::CopyBatch> head_batch_;
  device::Queue queue_;  // of a payload that a kernel moves; outlives what runs on it
  device::PendingCopy unpacking_;
  trace::Span span_;
  std::unique_ptr<IncomingRelay> relay_;    // route relayed
  std::unique_ptr<IncomingDirect> direct_;  // route direct
  // route pipelined; most messages have no blocks
  std::unique_ptr<IncomingBlocks> blocks_;
  std::unique_ptr<std::byte[]> scratch_;  // packed payload of a host region with gaps
  Control go_;
  MPI_Request go_request_ = MPI_REQUEST_NULL;
  Acknowledgement acknowledgement_;
  MPI_Request acknowledgement_request_ = MPI_REQUEST_NULL;
  Status outcome_;
  std::atomic<bool> is_settled_{false};
};

}  // namespace sluice::ops
