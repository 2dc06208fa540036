// SPDX-License-Identifier: BSD-3-Clause
// NodeOfComm: what the ranks of a communicator that lie on one node share, as far as they have come to it.
#pragma once

#include <cstdint>
#include <memory>

#include "ops/coll/call/call_order.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/comm/staging_comm.hpp"

namespace sluice::ops::coll {

class NodeGroup;
class RequestGroup;

struct NodeOfComm {
  static constexpr CommPart kPart = CommPart::kNode;

  // What they share for collective operations (node_group.hpp).
  std::shared_ptr<NodeGroup> group;
  bool has_sought_group = false;
  std::uint64_t n_calls_without_meeting = 0;  // blocking ones (meeting.hpp)
  // What RequestGroup::make_ahead has made, which `requests` goes on with.
  StagingCommPtr request_comm;
  // Of non-blocking and persistent calls, whichever way they go.
  CallOrderPtr order = std::make_shared<CallOrder>();
  // How non-blocking calls come to the group (request_group.hpp).
  std::shared_ptr<RequestGroup> requests;
};

}  // namespace sluice::ops::coll
