// SPDX-License-Identifier: BSD-3-Clause
// Outgoing: the sender's part of a message that travels as a descriptor (docs/protocol.md, "Sender").
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "device/ipc_exports.hpp"
#include "ops/p2p/block_stream.hpp"
#include "ops/p2p/buffer.hpp"
#include "ops/p2p/descriptor.hpp"
#include "ops/p2p/direct.hpp"
#include "ops/p2p/packed_payload.hpp"
#include "ops/p2p/plain_start.hpp"
#include "ops/p2p/relay.hpp"
#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"
#include "transfer/staged.hpp"

namespace sluice::ops {

// One send, or one persistent send with all its starts. The request that the program holds is the receive of the
// acknowledgement, a request of the host MPI. Threads: any for go(), note_taken(), is_hidden() and
// completes_without_host(); the engine's turns for advance(). All else one at a time: who makes and starts it, then who
// completes it.
class Outgoing final : public progress::Tracked, public progress::Task, public std::enable_shared_from_this<Outgoing> {
 public:
  // For make().
  Outgoing(Operation operation, bool is_persistent, Buffer buffer, const p2p::Part &part, MPI_Comm comm)
      : Tracked(comm, is_persistent),
        operation_(operation),
        buffer_(std::move(buffer)),
        dest_(part.peer),
        tag_(part.tag) {}
  ~Outgoing() override;

  // A send of `buffer`, which is `part`'s, if its route is one of a descriptor: with its descriptor, and the request
  // for its acknowledgement. Sends nothing yet. Null when `buffer` does not travel so, or turns out to be no memory
  // that can be exported and too short for blocks: then it is planned anew; and null after an error, *status.
  [[nodiscard]] static std::shared_ptr<Outgoing> make(Operation operation, bool is_persistent, Buffer *buffer,
                                                      const p2p::Part &part, MPI_Comm comm, Status *status);
  // Sends the descriptor; from now on the receiver is listened to. `starts_request`: also starts the persistent
  // request. Returns an error code of the host MPI, raised already.
  [[nodiscard]] int start(bool starts_request);

  // The acknowledgement's request; the program's.
  [[nodiscard]] MPI_Request *request() noexcept { return &request_; }

  // progress::Tracked
  // Decides how this start travels, and brings a plain one's payload down.
  [[nodiscard]] Status prepare() override;
  int start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) override;
  [[nodiscard]] Status finish(MPI_Status *status) override;
  [[nodiscard]] Status recall(MPI_Status *status) override;
  // Until the host MPI has done with the last block, which is about when the acknowledgement comes; or with a plain
  // start's payload.
  [[nodiscard]] bool is_hidden() const noexcept override {
    return is_plain() ? plain_->is_under_way() : is_streaming_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool completes_without_host() const noexcept override { return is_plain(); }
  [[nodiscard]] bool ignores_cancel() const noexcept override { return true; }

  void tell(waiting::Wait *wait) const noexcept override;

  // progress::Task: the blocks that the receiver asks for.
  [[nodiscard]] bool advance() override;

  // `from` of MPI_COMM_WORLD asks for blocks, of either sort; false: not of this message, or not as its receiver. The
  // first time counts. Any thread.
  [[nodiscard]] bool go(const Control &control, int from);
  // `from` asks for the whole message by the network library, and is reached there at `address`; false: as go(). The
  // first time counts. Any thread.
  [[nodiscard]] bool go_directly(const Control &control, int from, std::string_view address);
  // It says how many it has taken. What is not about this message is not heard. Any thread.
  void note_taken(const Control &control, int from) noexcept;

 private:
  // What the receiver asked for. Most messages have none of it.
  struct Stream {
    OutgoingBlocks blocks;
    transfer::Staged spilled;  // a payload with gaps that the device has no room to pack
    OutgoingRelay relay;
    OutgoingDirect direct;
    enum class Form : std::uint8_t { kBlocks, kRelay, kDirect };
    Form form = Form::kBlocks;  // of what is under way, in this start
    // What the receiver asked for while the network library had the message.
    std::atomic<std::uint64_t> n_blocks_then{0};
  };

  [[nodiscard]] Status open();
  void bring_together();
  [[nodiscard]] bool export_memory();
  void locate();
  void lend_slots();
  void name(const device::Exported &exported) noexcept;
  void begin_blocks(std::uint64_t n_blocks);
  [[nodiscard]] Stream &stream();
  [[nodiscard]] BlockRoute block_route() const noexcept;
  [[nodiscard]] Status bring_together_late(const std::byte **data);
  [[nodiscard]] bool fill();
  void note_asked(Control::Kind kind) noexcept;
  // Of a persistent send: its last start travels without a descriptor.
  [[nodiscard]] bool is_plain() const noexcept { return is_plain_.load(std::memory_order_acquire); }

  const Operation operation_;
  Buffer buffer_;
  PackedPayload packed_;
  const int dest_;
  const int tag_;
  int peer_ = -1;  // in MPI_COMM_WORLD
  Descriptor descriptor_;
  // The payload has gaps, and nobody has packed it. The descriptor says where its runs lie.
  bool receiver_gathers_ = false;
  std::shared_ptr<RelayRing> ring_;  // of route kRelayed
  DescriptorMessage message_;
  Acknowledgement acknowledgement_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::shared_ptr<PlainStart> plain_;  // of a persistent send that was started without permission
  std::atomic<bool> is_plain_{false};
  std::unique_ptr<Stream> stream_;
  std::atomic<bool> is_streaming_{false};
  std::mutex asking_;                           // control messages are heard by any thread: one after the other
  std::atomic<bool> is_asked_{false};           // for blocks, in this start
  std::atomic<bool> is_asked_directly_{false};  // for all of it by the network library, in this start
  Status stream_outcome_;
  std::atomic<bool> is_acknowledged_{false};
};

}  // namespace sluice::ops
