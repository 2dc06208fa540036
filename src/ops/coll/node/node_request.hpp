// SPDX-License-Identifier: BSD-3-Clause
// NodeRequest: a non-blocking or persistent collective call that the ranks of a node carry out together, until it is
// complete (docs/adr/0017).
#pragma once

#include <cstdint>
#include <memory>

#include "ops/coll/call/call_order.hpp"
#include "ops/coll/node/node_call.hpp"
#include "ops/coll/node/request_group.hpp"
#include "ops/coll/requests/engine_request.hpp"

namespace sluice::ops::coll {

// Threads: as EngineRequest; make() one at a time on a communicator.
class NodeRequest final : public EngineRequest {
 public:
  // Where a call finds the others: in a group that has a communicator for what is staged, or, while the ranks have not
  // agreed on one, by way of `requests`.
  struct Meeting {
    NodeGroupPtr group;
    RequestGroupPtr requests;
    CallOrderPtr order;       // of the communicator's
    bool has_device = false;  // the call has device memory at this rank
  };

  NodeRequest(const Call &call, const Member &member, Sides sides, Meeting meeting);

  // Starts a non-blocking call, or makes the request of a persistent one, into *call.request. `classified` says how
  // classifying `sides` went. Local. Returns an error code, raised already.
  static int make(const Call &call, const Member &member, Sides sides, const Status &classified, Meeting meeting);

 private:
  void begin(const std::shared_ptr<EngineRequest> &self) override;
  [[nodiscard]] bool go_on() override;
  void leave() noexcept override;
  // Joins the calls of the group, unless one before it is still to be placed: then this is to be called again.
  [[nodiscard]] bool join_group();
  // The same by way of meeting_.requests. True when the request is complete, as go_on_together().
  [[nodiscard]] bool go_on_meeting();
  [[nodiscard]] bool go_on_together();

  Meeting meeting_;
  std::unique_ptr<NodeCall> together_;  // of the last start
  std::uint64_t number_ = 0;            // among the calls of meeting_.requests; 0: not one of those, or not any more
  bool is_staged_ = false;
};

}  // namespace sluice::ops::coll
