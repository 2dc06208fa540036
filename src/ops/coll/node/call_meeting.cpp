// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/call_meeting.hpp"

#include <array>
#include <cstdint>

#include "ops/coll/call/length_terms.hpp"
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

}  // namespace

bool begin_meeting_for_call(const Call &call, NodeGroup *group) {
  if (!call.facts.compares_lengths) return false;
  begin_meeting(group, call.facts.length_term);
  return true;
}

// Once all are in a call that all trust, each may block, whatever another still copies.
Meeting hear_of_meeting_for_call(const Call &call, NodeGroup *group) {
  Meeting meeting = hear_of_meeting(group);
  meeting.may_block |= call.facts.all_trust_blocking;
  return meeting;
}

Meeting meet_for_call(const Call &call, const Member &member, const Prospect &own) {
  if (!call.facts.compares_lengths) return {};
  const std::uint32_t term = call.facts.length_term;
  const bool all_trust = call.facts.all_trust_blocking;
  const bool may_block = !own.stages && call.facts.trusts_blocking;
  Meeting meeting =
      meet(call.comm, *member.state,
           {.may_block = may_block, .goes_on = own.is_for_host && all_trust, .wants_terms = own.stages, .term = term});
  meeting.may_block |= all_trust && meeting.has_met;
  if (meeting.has_met) return meeting;
  LengthQuestion question(term, may_block);
  const int code = run_in_turns([&](MPI_Request *request) { return question.start(call.comm, request); });
  return code == MPI_SUCCESS ? question.answer() : Meeting{};
}

}  // namespace sluice::ops::coll
