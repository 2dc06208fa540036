// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/segments/in_segments.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "generated/operations.hpp"
#include "ops/coll/node/node_group.hpp"
#include "ops/coll/segments/cut_call.hpp"
#include "ops/coll/segments/segment_group.hpp"
#include "ops/coll/segments/segment_question.hpp"
#include "ops/coll/segments/segment_request.hpp"
#include "ops/comm/agreement.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/turns.hpp"
#include "plan/segments.hpp"
#include "progress/host_turns.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

using plan::SegmentAbility;
using plan::SegmentLengths;
using plan::SegmentQuery;

// The query of a call that the ranks may ask each other about.
std::optional<SegmentQuery> query_of(const Call &call) noexcept {
  if (plan::chance_of(call.ways, plan::Way::kSegments) == plan::Chance::kNone) return std::nullopt;
  return plan::segment_query(call.facts, wire::Channel::process().terms());
}

// Memory ran out on this rank: no reason to leave the others waiting.
SegmentAbility open(const Sides &sides, SegmentQuery *query, CutCall *cut) {
  try {
    return cut->open(sides, query);
  } catch (const std::exception &error) {
    log::debug("ops", error.what());
    return SegmentAbility::kNone;
  }
}

// All ranks are in it by now.
int run(const Call &call, const Sides &sides, CutCall *cut) {
  const statistics::Stopwatch watch;
  progress::turn_beside_host_until([cut] { return cut->advance(); });
  int least = 0;
  if (Status status = find_least(call.comm, cut->failure().is_ok() ? 1 : 0, &least); !status.is_ok()) {
    return raise(call.comm, status);
  }
  if (least == 0) return raise(call.comm, failure_for_all(call, cut->failure()));
  sides.record_in_segments(call.operation, watch.elapsed());
  return reap(MPI_SUCCESS);
}

// All ranks hear what the least able of them can do, and how long the longest buffer is.
Status ask_all(const Call &call, SegmentAbility own, SegmentQuery *query) {
  SegmentQuestion question;
  question.say(static_cast<int>(own), query->longest_bytes, call.facts.common_length);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = question.start(call.comm, &request);
  Status status = await_in_turns(code, &request, "have the ranks of a communicator agree on the segments of a call");
  if (status.is_ok()) question.answer(query);
  return status;
}

// Of a call of which no rank knows how long it is for the others.
bool is_long_here(const Sides &sides, const SegmentQuery &query) noexcept {
  const std::uint64_t bytes = std::max(sides.send.size_bytes(), sides.recv.size_bytes());
  return bytes >= query.threshold_bytes && bytes > query.segment_bytes;
}

// All ranks are here, and may wait for each other.
Status find_group_of_persistent(const Call &call, const Member &member, const Sides &sides, const SegmentQuery &query,
                                bool has_device, SegmentGroupPtr *group) {
  if (query.lengths == SegmentLengths::kUnknown) {
    int least = 0;  // 0 where it is long for a rank
    Status status = find_least(call.comm, has_device && is_long_here(sides, query) ? 0 : 1, &least);
    if (!status.is_ok() || least != 0) return status;
  }
  *group = SegmentGroup::find(call.comm, has_device);
  if (*group != nullptr) return {};
  if (Status status = SegmentGroup::seek(call.comm, member); !status.is_ok()) return status;
  *group = SegmentGroup::find(call.comm, has_device);
  return {};
}

}  // namespace

bool carry_out_in_segments(const Call &call, const Member &member, const Sides &sides, const Status &classified,
                           int *result) {
  // classify
  std::optional<SegmentQuery> query = query_of(call);
  if (!query) return false;
  const CommStatePtr state = state_of(call.comm);
  if (state == nullptr) return false;
  const bool is_unknown = query->lengths == SegmentLengths::kUnknown;
  // Known after all, without a question.
  if (is_unknown && call.is_short_for_all &&
      wire::Channel::process().terms().threshold_bytes <= query->threshold_bytes) {
    return false;
  }
  auto &segments = state->part<SegmentsOfComm>();
  Attempts &attempts = is_unknown ? segments.unequal_attempts : segments.attempts;
  if (wire::Channel::process().terms().may_stay_whole && !attempts.is_due()) return false;
  CutCall cut(call, member);
  const SegmentAbility own = classified.is_ok() ? open(sides, &*query, &cut) : SegmentAbility::kNone;
  // plan
  if (Status status = ask_all(call, own, &*query); !status.is_ok()) {
    *result = raise(call.comm, status);
    return true;
  }
  const plan::SegmentPlan plan = choose_segments(*query);
  log_plan(call, [&] { return explain(member.size, *query, plan); });
  if (plan.n_segments == 1) {
    attempts.note_vain();
    return false;
  }
  attempts.note_good();
  // execute, complete
  cut.begin(*query, plan);
  *result = run(call, sides, &cut);
  return true;
}

bool start_in_segments(const Call &call, const Member &member, Sides *sides, const Status &classified, int *result) {
  const std::optional<SegmentQuery> query = query_of(call);
  if (!query) return false;
  const bool has_device = sides->has_device();
  SegmentGroupPtr group;
  if (call.form == Form::kPersistent) {
    Status status = find_group_of_persistent(call, member, *sides, *query, has_device, &group);
    if (!status.is_ok()) {
      *result = raise(call.comm, status);
      return true;
    }
  } else if (query->lengths == SegmentLengths::kUnknown) {
    group = SegmentGroup::find_unequal(call.comm, has_device && is_long_here(*sides, *query));
  } else {
    group = SegmentGroup::find(call.comm, has_device);
  }
  if (group == nullptr) return false;
  *result = SegmentRequest::make(call, member, std::move(*sides), classified, *query, std::move(group));
  return true;
}

}  // namespace sluice::ops::coll
