// SPDX-License-Identifier: BSD-3-Clause
// StagedRequest: what a non-blocking or persistent operation on device buffers owes until it is complete (CCGrid'23,
// section III.C: the request keeps what the third step of staging needs).
#pragma once

#include <memory>
#include <utility>

#include "ops/p2p/side.hpp"
#include "progress/host_turns.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops {

// One thread at a time: who starts it, then who completes it.
class StagedRequest final : public progress::Tracked {
 public:
  StagedRequest(Operation operation, MPI_Comm communicator, bool is_persistent)
      : Tracked(communicator, is_persistent), operation_(operation) {}

  // The two sides; one of them stays as constructed where the operation has one only. An operation that replaces what
  // it sends has a receiving side alone, which it also copies down.
  Side send_side;
  Side recv_side;
  bool is_replacing = false;
  // MPICH 4.0 leaves the status of MPI_Isendrecv empty, so that nobody knows how much came. Then the staging memory
  // begins as a copy of the buffer, and goes back whole.
  bool is_length_unknown = false;

  // Any staging memory to look after.
  [[nodiscard]] bool is_staged() const noexcept { return send_side.is_staged() || recv_side.is_staged(); }

  // Takes the staging memory of both sides; copies nothing. Blocks.
  [[nodiscard]] Status open(bool has_large_count) {
    if (send_side.is_staged()) {
      if (Status status = send_side.open(has_large_count); !status.is_ok()) return status;
    }
    return recv_side.is_staged() ? recv_side.open(has_large_count) : Status();
  }

  // Outgoing data down. Counts the call.
  [[nodiscard]] Status prepare() override;
  // Incoming data up.
  [[nodiscard]] Status finish(MPI_Status *status) override;
  void tell(waiting::Wait *wait) const noexcept override;

 private:
  const Operation operation_;
};

// Puts `request`, which the host MPI has just started for `staged`, into the table; or, when the host refused
// (`result`), lets go of it. Returns `result`. Any thread.
inline int track(std::shared_ptr<StagedRequest> staged, MPI_Request *request, int result) {
  if (result == MPI_SUCCESS && staged->is_staged()) {
    if (!staged->is_persistent()) progress::HostTurns::process().serve(staged);
    progress::TrackedRequests::process().add(*request, std::move(staged));
  }
  return result;
}

}  // namespace sluice::ops
