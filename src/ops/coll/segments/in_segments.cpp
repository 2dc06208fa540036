// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/segments/in_segments.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "generated/operations.hpp"
#include "ops/coll/call/call_bytes.hpp"
#include "ops/coll/call/length_terms.hpp"
#include "ops/coll/fold/rank_order.hpp"
#include "ops/coll/node/node_group.hpp"
#include "ops/coll/reduction/reduction_pair.hpp"
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

// What the host MPI reduces element by element, and in parts as well as whole: a program's own operation may be called
// in ways that host MPIs' non-blocking forms have wrong (carry_out.cpp), and what is wrong is theirs to refuse.
bool can_be_reduced_in_parts(const Call &call, const Member &member) {
  ReductionPair pair{};
  return call.may_be_cut || (!call.recv.counts.is_named() && find_reduction_pair(call.recv.type, call.op, &pair) &&
                             !is_folded_in_rank_order(call, member));
}

// The arguments that say so mean the same on all ranks. Of reductions query_of() looks at the rest.
bool can_have_segments(const Call &call, const Member &member) noexcept {
  if (call.pattern == Pattern::kNone || is_of_neighbors(call.pattern)) return false;
  if (member.is_inter || member.size < 2) return false;
  if (is_reduction(call.pattern)) return true;
  const bool has_root = call.pattern != Pattern::kAllgather && call.pattern != Pattern::kAlltoall;
  if (has_root && (call.root < 0 || call.root >= member.size)) return false;
  return call.pattern != Pattern::kAlltoall || !call.send.is_in_place();
}

// Which of the functions it is.
bool is_unequal(const Call &call) noexcept {
  if (is_reduction(call.pattern)) return false;
  return call.send.counts.is_named() || call.recv.counts.is_named();
}

void set_equal_blocks(const Call &call, const Member &member, std::uint64_t bytes, SegmentQuery *query) noexcept {
  const bool has_one_block =
      call.pattern == Pattern::kBroadcast || (is_reduction(call.pattern) && call.pattern != Pattern::kReduceScatter);
  query->n_blocks = has_one_block ? 1 : static_cast<std::uint64_t>(member.size);
  query->block_bytes = bytes / query->n_blocks;
  // Nobody cuts an element in two.
  if (is_reduction(call.pattern) && call.recv.count > 0) {
    query->unit_bytes = std::max<std::uint64_t>(query->block_bytes / static_cast<std::uint64_t>(call.recv.count), 1);
  }
}

// Without the ability, and without the longest buffer where no rank knows it.
std::optional<SegmentQuery> query_of(const Call &call, const Member &member) {
  const wire::CollectiveTerms &terms = wire::Channel::process().terms();
  if (terms.segments_threshold_bytes == wire::CollectiveTerms::kNever) return std::nullopt;
  SegmentQuery query;
  query.threshold_bytes = terms.segments_threshold_bytes;
  query.segment_bytes = terms.segment_bytes;
  if (is_unequal(call) && call.pattern != Pattern::kAllgather) {
    query.lengths = SegmentLengths::kUnknown;
    return query;
  }
  const std::optional<std::uint64_t> bytes = common_bytes(call, member);
  if (!bytes || *bytes == kAnyLength || *bytes < query.threshold_bytes) return std::nullopt;
  if (is_unequal(call)) {
    query.lengths = SegmentLengths::kKnown;
    query.longest_bytes = *bytes;
  } else {
    set_equal_blocks(call, member, *bytes, &query);
  }
  if (!may_be_cut(query)) return std::nullopt;
  if (is_reduction(call.pattern) && !can_be_reduced_in_parts(call, member)) return std::nullopt;
  return query;
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

int raise_for_all(const Call &call, const Status &own) {
  if (!own.is_ok()) return raise(call.comm, own);
  return raise(call.comm,
               Status::error(ErrorKind::kBackend, "another rank of the communicator could not do its part of " +
                                                      std::string(name(call.operation)) + "; its own error says why"));
}

// All ranks are in it by now.
int run(const Call &call, const Sides &sides, CutCall *cut) {
  const statistics::Stopwatch watch;
  progress::turn_beside_host_until([cut] { return cut->advance(); });
  int least = 0;
  if (Status status = find_least(call.comm, cut->failure().is_ok() ? 1 : 0, &least); !status.is_ok()) {
    return raise(call.comm, status);
  }
  if (least == 0) return raise_for_all(call, cut->failure());
  for (const CollectiveSide *side : {&sides.send, &sides.recv}) {
    if (side->is_staged()) {
      side->record(call.operation, Route::kPipelined, watch.elapsed());
    } else {
      side->record(call.operation, watch.elapsed());
    }
  }
  return reap(MPI_SUCCESS);
}

// All ranks hear what the least able of them can do, and how long the longest buffer is.
Status ask_all(const Call &call, const Member &member, SegmentAbility own, SegmentQuery *query) {
  SegmentQuestion question;
  question.say(static_cast<int>(own), query->longest_bytes, common_length(call, member));
  MPI_Request request = MPI_REQUEST_NULL;
  int code = question.start(call.comm, &request);
  if (code == MPI_SUCCESS) code = wait_in_turns(&request, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) {
    return Status::error(ErrorKind::kBackend,
                         "the host MPI failed while the ranks of a communicator asked each other whether to stage a "
                         "call in segments; set SLUICE_COLL_SEGMENTS=off");
  }
  question.answer(query);
  return {};
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
  if (!wire::Channel::process().is_open()) return false;
  if (!can_have_segments(call, member)) return false;
  // classify
  std::optional<SegmentQuery> query = query_of(call, member);
  if (!query || !is_within_channel(call.comm)) return false;
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
  if (Status status = ask_all(call, member, own, &*query); !status.is_ok()) {
    *result = raise(call.comm, status);
    return true;
  }
  const plan::SegmentPlan plan = choose_segments(*query);
  if (log::level() >= log::Level::kDebug) {
    log::debug("plan", std::string(name(call.operation)) + ": " + explain(member.size, *query, plan));
  }
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
  if (!wire::Channel::process().is_open() || !can_have_segments(call, member)) return false;
  const std::optional<SegmentQuery> query = query_of(call, member);
  if (!query || !is_within_channel(call.comm)) return false;
  using Content = CollectiveSide::Content;
  const bool has_device = sides->send.content() == Content::kDevice || sides->recv.content() == Content::kDevice;
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
