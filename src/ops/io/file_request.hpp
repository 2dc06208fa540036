// SPDX-License-Identifier: BSD-3-Clause
// FileRequest: a call on a file with a request, whose steps the engine takes until it is complete. The program's
// request is a generalized one of the host MPI's, which the engine hides meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/statistics.hpp"
#include "ops/io/block_run.hpp"
#include "ops/io/call.hpp"
#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops::io {

// Threads: any for is_hidden(). All else one at a time: who makes it; then the engine's turns, until it is not hidden
// any more; then who completes it.
class FileRequest : public progress::Tracked, public progress::Task {
 public:
  // Makes the request into *call.request, and has the engine go on with `made`. Does not block. Returns the host MPI's
  // error code; after an error there is no request, and nothing is under way.
  static int make(const std::shared_ptr<FileRequest> &made);

  // progress::Tracked
  [[nodiscard]] Status prepare() final { return {}; }
  [[nodiscard]] Status finish(MPI_Status *status) final;
  [[nodiscard]] int raised() const noexcept final { return code_; }
  [[nodiscard]] bool is_hidden() const noexcept final { return !is_settled_.load(std::memory_order_acquire); }
  [[nodiscard]] bool ignores_cancel() const noexcept final { return true; }

  // progress::Task
  [[nodiscard]] bool advance() final;

 protected:
  explicit FileRequest(const Call &call) : Tracked(MPI_COMM_SELF, false), call_(call) {}

  // The program may free the datatype while the call is under way. Errors: the host MPI refuses.
  [[nodiscard]] Status hold_type();

  // Goes as far as is possible without waiting. True when all is done.
  [[nodiscard]] virtual bool go_on() = 0;
  // Gives back what only the steps needed: the program may complete the request much later.
  virtual void release() noexcept = 0;
  [[nodiscard]] virtual const Buffer &buffer() const noexcept = 0;
  [[nodiscard]] virtual Outcome *outcome() noexcept = 0;

  Call call_;

 private:
  static int fill_status(void *state, MPI_Status *status);

  const statistics::Stopwatch watch_;
  wire::OwnedDatatype held_type_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  int code_ = MPI_SUCCESS;
  std::atomic<bool> is_settled_{false};
};

}  // namespace sluice::ops::io
