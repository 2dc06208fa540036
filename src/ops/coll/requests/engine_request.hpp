// SPDX-License-Identifier: BSD-3-Clause
// EngineRequest: a non-blocking or persistent collective call of ours whose steps the engine takes, until it is
// complete (docs/adr/0017). The program's request is a generalized one of the host MPI's, or for a persistent call a
// persistent one that is never started; the engine hides it meanwhile. What the steps are, the derived class says.
#pragma once

#include <atomic>
#include <memory>

#include "ops/coll/call/held_types.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "ops/coll/fold/fold_group.hpp"
#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops::coll {

// Threads: any for is_hidden() and completes_without_host(). All else one at a time: who makes or starts it; then the
// engine's turns, until it is not hidden any more; then who completes it.
class EngineRequest : public progress::Tracked, public progress::Task {
 public:
  // progress::Tracked
  [[nodiscard]] Status prepare() final { return {}; }
  [[nodiscard]] Status finish(MPI_Status * /*status*/) final { return result_; }
  [[nodiscard]] Status recall(MPI_Status * /*status*/) final { return result_; }
  [[nodiscard]] bool is_hidden() const noexcept final { return is_hidden_.load(std::memory_order_acquire); }
  int start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) final;
  [[nodiscard]] bool completes_without_host() const noexcept final { return is_persistent() && !is_hidden(); }

  // progress::Task
  [[nodiscard]] bool advance() final;

 protected:
  EngineRequest(const Call &call, const Member &member, Sides sides);

  // Starts a non-blocking call, or makes the request of a persistent one, into *call.request. `classified` says how
  // classifying the sides went. Returns an error code, raised already.
  static int make(const std::shared_ptr<EngineRequest> &made, const Status &classified);

  // A start: from the end of this on the engine looks after it. May throw before anything is done.
  virtual void begin(const std::shared_ptr<EngineRequest> &self) = 0;
  // True when the request is complete.
  [[nodiscard]] virtual bool go_on() = 0;
  // It is about to be complete: others need not wait for it. Any more often than once does nothing.
  virtual void leave() noexcept = 0;

  // Always true.
  bool complete(Status result);

  // The call as it is staged by this rank alone, on `comm`, or folded in the order of the ranks where that is wanted:
  // the host MPI's request is under way, or there is an error.
  [[nodiscard]] Status stage(MPI_Comm comm);
  // Whether host_request_ is complete; sets *failure on an error of the host MPI's.
  [[nodiscard]] bool has_come(Status *failure);
  // Of what was staged.
  [[nodiscard]] bool go_on_staged();

  Call call_;
  const Member member_;
  Sides sides_;
  Status classified_;  // of the last start
  MPI_Request host_request_ = MPI_REQUEST_NULL;

 private:
  // Of a reduction that is folded if it is staged: it has its place among the others from the start on.
  FoldGroupPtr fold_group_;
  std::unique_ptr<PendingFold> fold_;
  HeldTypes types_;
  MPI_Request request_ = MPI_REQUEST_NULL;  // the program's, when this has to complete it
  Call staged_;
  bool has_staging_ = false;
  unsigned n_steps_ = 0;
  Status result_;
  std::atomic<bool> is_hidden_{false};
};

}  // namespace sluice::ops::coll
