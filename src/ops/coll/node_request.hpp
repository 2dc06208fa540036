// SPDX-License-Identifier: BSD-3-Clause
// NodeRequest: a non-blocking or persistent collective call that the ranks of a node carry out together, until it is
// complete (docs/adr/0017). The program's request is a generalized one of the host MPI's, or for a persistent call a
// persistent one that is never started; the engine takes the steps, and hides it meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "ops/coll/held_types.hpp"
#include "ops/coll/node_call.hpp"
#include "ops/coll/request_group.hpp"
#include "progress/engine.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops::coll {

class NodeRequest final : public progress::Tracked, public progress::Task {
 public:
  // Where a call finds the others: in a group that has a communicator for what is staged, or, while the ranks have not
  // agreed on one, by way of `requests`.
  struct Meeting {
    NodeGroupPtr group;
    RequestGroupPtr requests;
    bool has_device = false;  // the call has device memory at this rank
  };

  NodeRequest(const Call &call, const Member &member, Sides sides, Meeting meeting);

  // Starts a non-blocking call, or makes the request of a persistent one, into *call.request. `classified` says how
  // classifying `sides` went. Local. Returns an error code, raised already.
  static int make(const Call &call, const Member &member, Sides sides, const Status &classified, Meeting meeting);

  // progress::Tracked
  [[nodiscard]] Status prepare() override { return {}; }
  [[nodiscard]] Status finish(MPI_Status * /*status*/) override { return result_; }
  [[nodiscard]] Status recall(MPI_Status * /*status*/) override { return result_; }
  [[nodiscard]] bool is_hidden() const noexcept override { return is_hidden_.load(std::memory_order_acquire); }
  int start_again(const std::shared_ptr<Tracked> &self, MPI_Request *request) override;
  [[nodiscard]] bool is_apart() const noexcept override { return is_persistent() && !is_hidden(); }

  // progress::Task
  [[nodiscard]] bool advance() override;

 private:
  // Joins the calls of the group: from now on the engine looks after it. May throw before anything is done.
  void begin(const Status &classified, const std::shared_ptr<NodeRequest> &self);
  void join_group();
  // The same by way of meeting_.requests. True when the call is complete.
  [[nodiscard]] bool go_on_meeting();
  [[nodiscard]] bool go_on();
  [[nodiscard]] Status stage(MPI_Comm comm);
  [[nodiscard]] bool go_on_staged();
  // Always true.
  bool complete(Status result);

  Call call_;
  const Member member_;
  Sides sides_;
  Meeting meeting_;
  HeldTypes types_;
  MPI_Request request_ = MPI_REQUEST_NULL;  // the program's, when this has to complete it
  std::unique_ptr<NodeCall> together_;      // of the last start
  Status classified_;
  std::uint64_t number_ = 0;  // among the calls of meeting_.requests; 0: not one of those, or not any more
  // Of a start that is staged.
  Call staged_;
  bool has_staging_ = false;
  bool is_staged_ = false;
  MPI_Request host_request_ = MPI_REQUEST_NULL;
  unsigned n_steps_ = 0;
  Status result_;
  std::atomic<bool> is_hidden_{false};
};

}  // namespace sluice::ops::coll
