// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_group.hpp"

#include <utility>

#include "base/log.hpp"
#include "ops/coll/node_queue.hpp"
#include "ops/p2p/comm_state.hpp"
#include "ops/request/collective.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

Status check(int code, const char *what) {
  if (code == MPI_SUCCESS) return {};
  return Status::error(
      ErrorKind::kBackend,
      std::string("the host MPI failed while the ranks of a communicator prepared to move device memory together: ") +
          what + "; set SLUICE_COLL_IPC=off and SLUICE_COLL_LEVELS=off");
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
  Status agreed = check(code, "MPI_Ibcast failed");
  *is_shared = false;
  if (agreed.is_ok()) agreed = agree_on_all(comm, is_named && opened.is_ok(), is_shared);
  if (member.rank == 0 && is_named) wire::SharedSegment::remove_name(name);
  if (!opened.is_ok()) {
    log::warn_once("node_group", "ops", opened.message() + "; collective operations of device memory are staged");
  }
  return agreed;
}

// Non-blocking calls that the host MPI carried out alone, before the ranks consider once more to do better.
constexpr std::uint32_t kCallsBetweenTrials = 64;

}  // namespace

Status find_least(MPI_Comm comm, int value, int *least) {
  *least = value;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = wire::host().MPI_Iallreduce(&value, least, 1, MPI_INT, MPI_MIN, comm, &request);
  if (code == MPI_SUCCESS) code = wait_in_turns(&request, MPI_STATUS_IGNORE);
  return check(code, "MPI_Iallreduce failed");
}

Status agree_on_all(MPI_Comm comm, bool value, bool *is_true) {
  int least = 0;
  Status status = find_least(comm, value ? 1 : 0, &least);
  *is_true = status.is_ok() && least != 0;
  return status;
}

Status StagingComm::make(MPI_Comm comm) {
  const wire::Host &host = wire::host();
  MPI_Group members = MPI_GROUP_NULL;
  // Not a duplicate: that would copy the program's attributes.
  int code = host.MPI_Comm_group(comm, &members);
  if (code == MPI_SUCCESS) code = after_barrier(comm, [&] { return host.MPI_Comm_create(comm, members, &comm_); });
  if (code == MPI_SUCCESS) code = host.MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  if (members != MPI_GROUP_NULL && host.MPI_Group_free(&members) != MPI_SUCCESS) {
    log::debug("ops", "a group could not be freed");
  }
  return check(code, "MPI_Comm_create failed");
}

StagingComm::~StagingComm() {
  // In MPI_Finalize the host MPI deletes what still hangs on communicators, and takes no more calls.
  if (comm_ == MPI_COMM_NULL || !wire::Channel::process().is_open()) return;
  if (wire::host().MPI_Comm_free(&comm_) != MPI_SUCCESS) log::debug("ops", "a communicator could not be freed");
}

NodeGroup::NodeGroup(wire::SharedSegment segment, const Member &member, std::vector<int> world_ranks)
    : segment_(std::move(segment)),
      board_(segment_.data(), member.size, member.rank),
      queue_(std::make_unique<NodeQueue>(board_)),
      world_ranks_(std::move(world_ranks)) {}

NodeGroup::~NodeGroup() = default;

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
  if (*group == nullptr || state->n_requests_wanted == 0 || (*group)->staging_comm() != MPI_COMM_NULL) return {};
  return (*group)->staging_comm_.make(comm);
}

NodeGroupPtr NodeGroup::find(MPI_Comm comm, bool has_device) {
  const CommStatePtr state = state_of(comm);
  if (state == nullptr || !state->is_on_one_node) return nullptr;
  ++state->n_requests_wanted;
  state->requests_have_device = has_device;
  NodeGroupPtr group = state->node_group;
  return group != nullptr && group->staging_comm() != MPI_COMM_NULL ? group : nullptr;
}

Status NodeGroup::seek_for_requests(MPI_Comm comm, const Member &member) {
  if (member.is_inter || member.size < 2) return {};
  const CommStatePtr state = state_of(comm);
  if (state == nullptr || state->n_requests_wanted == 0) return {};
  const bool is_first = state->n_request_trials == 0;
  if (!is_first && state->n_requests_wanted < kCallsBetweenTrials) return {};
  NodeGroupPtr group = state->node_group;
  if (group != nullptr && group->is_good() && group->staging_comm() != MPI_COMM_NULL) return {};
  ++state->n_request_trials;
  bool have_all_device = false;
  Status status = agree_on_all(comm, state->requests_have_device, &have_all_device);
  if (status.is_ok() && have_all_device) status = of(comm, member, &group);
  state->n_requests_wanted = have_all_device ? 1 : 0;
  if (status.is_ok() && have_all_device && group != nullptr) group->note_together();
  return status;
}

}  // namespace sluice::ops::coll
