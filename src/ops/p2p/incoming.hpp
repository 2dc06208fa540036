// SPDX-License-Identifier: BSD-3-Clause
// Incoming: a receive that may meet a descriptor (docs/protocol.md, "Receiver"). The request that the program holds is
// the host MPI's own receive; the engine looks at it and hides it until the payload is in place.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "ops/comm/comm_state.hpp"
#include "ops/p2p/call.hpp"
#include "ops/p2p/claims.hpp"
#include "ops/p2p/side.hpp"
#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops {

// Threads: any for is_hidden() and completes_without_host(). All else one at a time: who starts it; then the engine's
// turns, until it is not hidden any more; then who completes it.
class Incoming final : public progress::Tracked, public progress::Task {
 public:
  Incoming(Operation operation, MPI_Comm comm, bool is_persistent)
      : Tracked(comm, is_persistent), operation_(operation) {}

  // Classified, planned and open when it is staged.
  Side side;
  // Of a persistent receive: what each start takes, and the function that it is. Every receive has the tag, as the
  // program names it, for the table of waits.
  struct Again {
    const p2p::Form *form = nullptr;
    int source = MPI_ANY_SOURCE;
    int tag = MPI_ANY_TAG;
  };
  Again again;

  // The host MPI has started the receive `request`; `envelope` is what the program is to be told of a claimed message,
  // whose own is another. From now on the engine looks after it.
  void serve(const std::shared_ptr<Incoming> &self, MPI_Request request, const std::optional<Envelope> &envelope);

  // progress::Tracked
  [[nodiscard]] Status prepare() override { return {}; }
  [[nodiscard]] Status finish(MPI_Status *status) override;
  [[nodiscard]] Status recall(MPI_Status *status) override;
  [[nodiscard]] bool is_hidden() const noexcept override { return is_hidden_.load(std::memory_order_acquire); }

  void tell(waiting::Wait *wait) const noexcept override;

  int start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) override;
  [[nodiscard]] bool completes_without_host() const noexcept override {
    return is_persistent() && request_ != MPI_REQUEST_NULL && !is_hidden();
  }

  // For Arrivals, within a turn: asks the host MPI. False once something has come, or an error: then this is not to be
  // asked again, but may have to be advanced.
  [[nodiscard]] bool looks_for_arrival();
  [[nodiscard]] bool is_pulling() const noexcept { return pull_ != nullptr; }

  // progress::Task: what follows after a descriptor came.
  [[nodiscard]] bool advance() override;

 private:
  // Who sent what came with that status, as a rank in MPI_COMM_WORLD; -1: nobody there.
  [[nodiscard]] int sender_of(const MPI_Status &status) const noexcept;
  void settle() noexcept {
    side.release_head();
    is_hidden_.store(false, std::memory_order_release);
  }

  const Operation operation_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::optional<Envelope> envelope_;
  CommStatePtr state_;  // of the communicator, which the program may free meanwhile; null for MPI_COMM_WORLD
  std::atomic<bool> is_hidden_{false};
  // What the host MPI said when it had completed the receive. Kept, because MPICH 5 and Intel MPI tell the status of a
  // persistent receive only once, and take the request for inactive from then on.
  MPI_Status completed_{};
  bool is_completed_ = false;
  Status outcome_;              // of a plain message
  std::shared_ptr<Pull> pull_;  // of a message that came as a descriptor
};

// What a receive finds before it posts: a claimed message that it has to take, and the lock that keeps a probe from
// claiming another meanwhile. Held until the receive is posted. By the thread that looked.
struct Posting {
  CommStatePtr state;
  std::unique_lock<std::mutex> lock;
  std::optional<Claim> claim;
};

// Looks at the claimed messages of `comm`. Cost without probes: one load. Any thread.
[[nodiscard]] Posting look_at_claims(MPI_Comm comm, int source, int tag);
// A probe is made: from now on receives look. Any thread.
void note_probe() noexcept;
// Something may be claimed on `comm`, so that a receive has to look_at_claims(). Any thread.
[[nodiscard]] bool has_claims(MPI_Comm comm);

// A blocking receive whose host MPI function is to be called as it is would hold up the engine, or miss a claim. Any
// thread.
[[nodiscard]] bool may_block(MPI_Comm comm);

// The end of a receive that the host MPI has completed with `result` and *status: pulls what a descriptor describes,
// or brings up what was staged; makes the status right and counts the call. Blocks, in turns. Returns an error code,
// raised already. Any thread.
int finish_receive(Operation operation, MPI_Comm comm, Side *side, MPI_Status *status, int result,
                   std::chrono::nanoseconds time);

}  // namespace sluice::ops
