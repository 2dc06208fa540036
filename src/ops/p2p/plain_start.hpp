// SPDX-License-Identifier: BSD-3-Clause
// PlainStart: a start of a persistent send of device memory while its peer has not permitted descriptors
// (permissions.hpp). The payload is staged and sent by a request of our own; the one that the program holds, which is
// for an acknowledgement, stays inactive meanwhile.
#pragma once

#include <atomic>
#include <utility>

#include "ops/p2p/side.hpp"
#include "progress/engine.hpp"

namespace sluice::ops {

// Threads: any for is_under_way(). All else one at a time: who starts the request, then the engine's turns, then who
// completes it.
class PlainStart final : public progress::Task {
 public:
  // `buffer`: planned for a peer that is sent no descriptors.
  explicit PlainStart(Buffer buffer) : side_(std::move(buffer)) {}

  // Brings the payload down into staging memory, which is taken the first time and kept. Not while one is under way.
  // Blocks. Errors: those of Side::open() and Side::copy_down().
  [[nodiscard]] Status prepare(Operation operation, int dest, int tag);
  // Sends what was prepared, in the mode of `operation`. The caller has the engine watch this after success. Returns an
  // error code of the host MPI, raised already.
  [[nodiscard]] int start(Operation operation, int dest, int tag, MPI_Comm comm);

  // From start() until the host MPI has done with the payload. Any thread.
  [[nodiscard]] bool is_under_way() const noexcept { return is_under_way_.load(std::memory_order_acquire); }
  // How the last one ended. Once it is no longer under way.
  [[nodiscard]] const Status &outcome() const noexcept { return outcome_; }

  // progress::Task
  [[nodiscard]] bool advance() override;

 private:
  Side side_;
  bool is_open_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::atomic<bool> is_under_way_{false};
  Status outcome_;
};

}  // namespace sluice::ops
