// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/host/whole_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/log.hpp"
#include "generated/operations.hpp"
#include "ops/request/turns.hpp"
#include "progress/notices.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

using progress::Notice;
using progress::Notices;

struct HostCallsOfComm {
  static constexpr CommPart kPart = CommPart::kHostCalls;
  std::uint64_t n_whole_calls = 0;  // blocking ones
};

// The same on all ranks of a communicator. Two of the same ranks have the same; then the number of the call tells them
// apart, unless that is the same, too.
std::uint64_t group_of(const CommState &state) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, a rank at a time
  for (const int rank : state.world_ranks) hash = (hash ^ static_cast<std::uint64_t>(rank)) * 0x100000001b3;
  return hash;
}

}  // namespace

WholeCall::WholeCall(const Call &call, const Member *member, const Meeting &meeting)
    : call_(call), member_(member), meeting_(meeting) {
  if (member == nullptr || member->is_inter) return;
  state_ = member->state;
  if (state_ == nullptr) return;
  // Not all ranks of a meeting in memory come here: a rank that goes on counts nothing.
  constexpr std::uint64_t kOfMeetings = std::uint64_t{1} << 63;
  number_ = meeting.is_in_memory ? kOfMeetings | meeting.number : ++state_->part<HostCallsOfComm>().n_whole_calls;
}

// Of those that send notices, who does not would end the call without this rank, and may be anywhere then.
bool WholeCall::hangs_on(int from, int to) const noexcept {
  if (from == to) return false;
  // What this rank gives the other one, or gets from it.
  const bool gives = from == member_->rank;
  const int other = gives ? to : from;
  const Argument &argument = gives && !call_.send.is_in_place() ? call_.send : call_.recv;
  switch (call_.pattern) {
    case Pattern::kGather:
    case Pattern::kReduce:
      return to == call_.root;
    case Pattern::kScan:
    case Pattern::kExscan:
      return to > from;
    case Pattern::kNeighborAllgather:
    case Pattern::kNeighborAlltoall:
      return call_.neighbors != nullptr &&
             std::count(call_.neighbors->destinations.begin(), call_.neighbors->destinations.end(), to) != 0;
    case Pattern::kAlltoall:
      return !argument.counts.is_named() || argument.counts.is_null() ||
             argument.counts.at(static_cast<std::size_t>(other)) != 0;
    default:
      return true;
  }
}

std::optional<int> WholeCall::find_without_data() const noexcept {
  if (!may_lack_data(meeting_)) return std::nullopt;
  for (int rank = 0; rank < member_->size; ++rank) {
    if (hangs_on(rank, member_->rank) && is_without_data(meeting_, rank)) return rank;
  }
  return std::nullopt;
}

bool WholeCall::tell_others() {
  if (state_ == nullptr || !state_->is_within_world || call_.facts.has_own_operation) return false;
  if (meeting_.is_in_memory && meeting_.may_block) {
    say_without_data(meeting_);
    return true;
  }
  const Notice notice{group_of(*state_), number_};
  std::vector<MPI_Request> requests;
  bool are_told = true;
  for (int rank = 0; rank < member_->size; ++rank) {
    if (!hangs_on(member_->rank, rank)) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    // Synchronous: who is told has taken it in before this rank takes part, so before it can come to a result.
    are_told &=
        wire::host().MPI_Issend(&notice, sizeof notice, MPI_BYTE, state_->world_ranks[static_cast<std::size_t>(rank)],
                                Notices::kTag, wire::Channel::process().comm(), &request) == MPI_SUCCESS;
    requests.push_back(request);
  }
  for (MPI_Request &request : requests) {
    if (request != MPI_REQUEST_NULL) are_told &= wait_in_turns(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  }
  if (!are_told) log::error("ops", "other ranks could not be told that a collective operation failed here");
  return are_told;
}

Status WholeCall::outcome() const {
  if (state_ == nullptr) return {};
  int rank = 0;
  if (const std::optional<int> found = find_without_data()) {
    rank = state_->world_ranks[static_cast<std::size_t>(*found)];
  } else if (!Notices::process().are_there() || !Notices::process().take({group_of(*state_), number_}, &rank)) {
    return {};
  }
  return Status::error(
      ErrorKind::kBackend,
      fmt::format("{}: rank {} of MPI_COMM_WORLD could not bring its data out of device memory, and the "
                  "result would be made of others; its own error says why",
                  name(call_.operation), rank));
}

}  // namespace sluice::ops::coll
