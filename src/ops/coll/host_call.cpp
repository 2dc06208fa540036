// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/host_call.hpp"

#include <algorithm>
#include <array>

#include "ops/coll/carry_out.hpp"
#include "ops/coll/length_terms.hpp"
#include "ops/coll/rank_order.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/request/collective.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

// Between two groups the host MPIs' non-blocking forms are not to be relied on: MPICH 4.0's MPI_Ibcast ends before the
// data is there. All members know what their communicator is, so they do the same.
bool is_between_groups(MPI_Comm comm) {
  int is_inter = 0;
  return wire::Channel::process().is_open() && comm != MPI_COMM_NULL &&
         wire::host().MPI_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter != 0;
}

// The host MPIs' non-blocking forms are not to be relied on. Between two groups: is_between_groups(). With types that
// only a program's own operation takes: Open MPI 4's MPI_Ireduce writes beside its memory when one has a lower bound.
// All members name the same operation.
bool is_after_barrier(const Call &call) {
  return call.comes_after_barrier || is_between_groups(call.comm) || is_by_own_operation(call.op);
}

// Nor are their blocking ones, everywhere. With a datatype that is not predefined: Intel MPI's MPI_Allgather receives
// wrong bytes. MPI_Reduce in place: MPICH 4.0's reads at MPI_IN_PLACE, from 2 KiB on, where the root is not 0. What
// means nothing at this rank counts, too: it makes the call slower, no more.
bool trusts_blocking(const Call &call) {
  const auto is_predefined = [](const Argument &argument) {
    transfer::LayoutPtr layout;
    return argument.is_in_place() ||
           (!argument.has_types && (argument.type == MPI_DATATYPE_NULL || named_layout(argument.type, &layout)));
  };
  if (call.pattern == Pattern::kReduce) return !call.send.is_in_place();
  return call.pattern != Pattern::kAllgather || (is_predefined(call.send) && is_predefined(call.recv));
}

// What the ranks ask each other where they do not meet: whether their lengths fit, and whether all trust the blocking
// function. Stays where it is until its request is complete.
class LengthQuestion {
 public:
  LengthQuestion(std::uint32_t term, bool may_block) noexcept : said_{term, may_block ? 0U : 1U} {}

  [[nodiscard]] int start(MPI_Comm comm, MPI_Request *request) {
    return wire::host().MPI_Iallreduce(said_.data(), heard_.data(), static_cast<int>(said_.size()), MPI_UINT64_T,
                                       MPI_SUM, comm, request);
  }
  // When the request is complete.
  [[nodiscard]] Meeting answer() const noexcept {
    Meeting meeting;
    meeting.has_met = true;
    meeting.may_block = heard_[1] == 0;
    meeting.lengths_fit = heard_[0] % kLengthPrime == 0;
    return meeting;
  }

 private:
  std::array<std::uint64_t, 2> said_;
  std::array<std::uint64_t, 2> heard_{};
};

// The same on all ranks that make the call.
bool may_compare(const Call &call, const Member &member) {
  return member.size > 1 && has_length_term(call, member) && wire::Channel::process().is_open() &&
         !is_after_barrier(call) && !is_folded_in_rank_order(call, member);
}

// The same. Steps of levels have none: their lengths are Sluice's own.
bool has_meeting(const Call &call, const Member &member) {
  if (!may_compare(call, member) || !is_within_channel(call.comm)) return false;
  if (wire::Channel::process().terms().first_meeting == wire::CollectiveTerms::kNever) return false;
  const CommStatePtr state = state_of(call.comm);
  return state != nullptr && !state->is_of_levels;
}

}  // namespace

bool is_by_own_operation(MPI_Op op) {
  const std::array predefined = {MPI_OP_NULL, MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD,
                                 MPI_LAND,    MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR,
                                 MPI_BXOR,    MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
  return std::find(predefined.begin(), predefined.end(), op) == predefined.end();
}

bool pass_for_call(const Call &call, const Member &member, NodeGroup *group) {
  if (!has_meeting(call, member)) return false;
  pass_meeting(group, length_term(call, member));
  return true;
}

Meeting meet_for_call(const Call &call, const Member &member, bool stages) {
  if (!has_meeting(call, member)) return {};
  const std::uint32_t term = length_term(call, member);
  const bool may_block = !stages && trusts_blocking(call);
  const Meeting meeting = meet(call.comm, may_block, term);
  if (meeting.has_met) return meeting;
  LengthQuestion question(term, may_block);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = question.start(call.comm, &request);
  if (code == MPI_SUCCESS) code = wait_in_turns(&request, MPI_STATUS_IGNORE);
  return code == MPI_SUCCESS ? question.answer() : Meeting{};
}

int HostCall::run(const std::function<void()> &refill) {
  if (member_ != nullptr && is_folded_in_rank_order(call_, *member_)) return fold_in_rank_order(call_, *member_);
  const auto block = [&] { return call_.block(call_); };
  if (is_after_barrier(call_)) return after_barrier(call_.comm, block);
  if (meeting_.has_met) return guarded(call_.comm, [&] { return reap(call_fitting(refill)); });
  // Without a channel nobody meets, and nothing is asked.
  const bool may_block = wire::Channel::process().is_open() && trusts_blocking(call_);
  return in_turns(call_.comm, block, [&](MPI_Request *request) { return call_.start(call_, request); }, may_block);
}

// All ranks are in the call, and know whether their lengths fit.
int HostCall::call_fitting(const std::function<void()> &refill) {
  if (!meeting_.lengths_fit) {
    refill();
    is_refilled_ = true;
  }
  const bool meets_again = !meeting_.may_block && (meeting_.is_in_memory || !meeting_.lengths_fit);
  if (meets_again) meeting_ = meet_for_call(call_, *member_, false);
  if (meeting_.may_block) return call_.block(call_);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = call_.start(call_, &request);
  return code == MPI_SUCCESS ? wait_in_turns(&request, MPI_STATUS_IGNORE) : code;
}

}  // namespace sluice::ops::coll
