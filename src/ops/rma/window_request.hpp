// SPDX-License-Identifier: BSD-3-Clause
// WindowRequest: the program's request for MPI_Rput and its kin: a generalized one of the host MPI's, which the engine
// hides until the operation is complete.
#pragma once

#include <atomic>
#include <memory>

#include "base/status.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops::rma {

// Threads: any for is_hidden(), and for complete(), once. All else one at a time: who makes it, then who completes the
// request.
class WindowRequest final : public progress::Tracked {
 public:
  // Errors of the operation are raised on `comm`, which returns them.
  explicit WindowRequest(MPI_Comm comm) noexcept : Tracked(comm, false) {}

  // Makes the program's request into *request. Returns the host MPI's error code.
  [[nodiscard]] static int make(MPI_Comm comm, MPI_Request *request, std::shared_ptr<WindowRequest> *made);
  // The operation has ended with `result`. Once.
  void complete(Status result);

  // progress::Tracked
  [[nodiscard]] Status prepare() override { return {}; }
  [[nodiscard]] Status finish(MPI_Status * /*status*/) override { return result_; }
  [[nodiscard]] Status recall(MPI_Status * /*status*/) override { return result_; }
  [[nodiscard]] bool is_hidden() const noexcept override { return is_hidden_.load(std::memory_order_acquire); }

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
  Status result_;
  std::atomic<bool> is_hidden_{true};
};

}  // namespace sluice::ops::rma
