// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_group.hpp"

#include <utility>

#include "base/log.hpp"
#include "ops/p2p/comm_state.hpp"
#include "ops/request/turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

Status check(int code, const char *what) {
  if (code == MPI_SUCCESS) return {};
  return Status::error(ErrorKind::kBackend,
                       std::string("the host MPI could not tell the ranks of a communicator of their shared memory: ") +
                           what + "; set SLUICE_COLL_IPC=off");
}

// Rank 0 makes the segment, and the others open it. Whether all of them have it is agreed, so that all have a group or
// none. The name is gone when this returns.
Status set_up(MPI_Comm comm, const Member &member, wire::SharedSegment *segment, bool *is_shared) {
  const wire::Host &host = wire::host();
  const std::size_t size_bytes = transfer::Board::size_bytes(member.size);
  wire::SegmentName name{};
  Status opened;
  if (member.rank == 0) {
    opened = wire::SharedSegment::create(size_bytes, segment, &name);
    if (opened.is_ok()) transfer::Board::prepare(segment->data(), member.size);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  int code = host.MPI_Ibcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, comm, &request);
  if (code == MPI_SUCCESS) code = wait_in_turns(&request, MPI_STATUS_IGNORE);
  const bool is_named = name.front() != '\0';
  if (code == MPI_SUCCESS && is_named && member.rank != 0) {
    opened = wire::SharedSegment::open(name, size_bytes, segment);
  }
  int is_missing = is_named && opened.is_ok() ? 0 : 1;
  int is_missing_anywhere = 1;
  if (code == MPI_SUCCESS) {
    code = host.MPI_Iallreduce(&is_missing, &is_missing_anywhere, 1, MPI_INT, MPI_MAX, comm, &request);
    if (code == MPI_SUCCESS) code = wait_in_turns(&request, MPI_STATUS_IGNORE);
  }
  if (member.rank == 0 && is_named) wire::SharedSegment::remove_name(name);
  if (!opened.is_ok()) {
    log::warn_once("node_group", "ops", opened.message() + "; collective operations of device memory are staged");
  }
  *is_shared = code == MPI_SUCCESS && is_missing_anywhere == 0;
  return check(code, "MPI_Ibcast or MPI_Iallreduce failed");
}

}  // namespace

Status NodeGroup::of(MPI_Comm comm, const Member &member, NodeGroupPtr *group) {
  group->reset();
  if (member.is_inter || member.size < 2 || member.size > transfer::Board::kMostRanks) return {};
  const CommStatePtr state = state_of(comm);
  if (state == nullptr || !state->is_on_one_node) return {};
  if (!state->has_sought_node_group) {
    wire::SharedSegment segment;
    bool is_shared = false;
    if (Status status = set_up(comm, member, &segment, &is_shared); !status.is_ok()) return status;
    state->has_sought_node_group = true;
    if (is_shared) state->node_group = std::make_shared<NodeGroup>(std::move(segment), member, state->world_ranks);
  }
  *group = state->node_group;
  return {};
}

}  // namespace sluice::ops::coll
