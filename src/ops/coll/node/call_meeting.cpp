// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/call_meeting.hpp"

#include <array>
#include <cstdint>

#include "ops/coll/call/host_trust.hpp"
#include "ops/coll/call/length_terms.hpp"
#include "ops/coll/fold/rank_order.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/request/turns.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

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
    meeting.knows_lengths = true;
    meeting.lengths_fit = heard_[0] % kLengthPrime == 0;
    return meeting;
  }

 private:
  std::array<std::uint64_t, 2> said_;
  std::array<std::uint64_t, 2> heard_{};
};

// The same on all ranks that make the call. Steps of levels have none: their lengths are Sluice's own.
bool has_meeting(const Call &call, const Member &member) {
  const CommState *const state = member.state;
  if (state == nullptr || member.size < 2 || !state->is_within_world || state->is_of_levels) return false;
  const wire::Channel &channel = wire::Channel::process();
  if (!channel.is_open() || channel.terms().first_meeting == wire::CollectiveTerms::kNever) return false;
  return has_length_term(call, member) && !is_after_barrier(call) && !is_folded_in_rank_order(call, member);
}

}  // namespace

bool begin_meeting_for_call(const Call &call, const Member &member, NodeGroup *group) {
  if (!has_meeting(call, member)) return false;
  begin_meeting(group, length_term(call, member));
  return true;
}

// Once all are in a call that all trust, each may block, whatever another still copies.
Meeting hear_of_meeting_for_call(const Call &call, NodeGroup *group) {
  Meeting meeting = hear_of_meeting(group);
  meeting.may_block |= all_trust_blocking(call);
  return meeting;
}

Meeting meet_for_call(const Call &call, const Member &member, const Prospect &own) {
  if (!has_meeting(call, member)) return {};
  const std::uint32_t term = length_term(call, member);
  const bool all_trust = all_trust_blocking(call);
  const bool may_block = !own.stages && trusts_blocking(call);
  Meeting meeting =
      meet(call.comm, *member.state,
           {.may_block = may_block, .goes_on = own.is_for_host && all_trust, .wants_terms = own.stages, .term = term});
  meeting.may_block |= all_trust && meeting.has_met;
  if (meeting.has_met) return meeting;
  LengthQuestion question(term, may_block);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = question.start(call.comm, &request);
  if (code == MPI_SUCCESS) code = wait_in_turns(&request, MPI_STATUS_IGNORE);
  return code == MPI_SUCCESS ? question.answer() : Meeting{};
}

}  // namespace sluice::ops::coll
