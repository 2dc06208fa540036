// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/host/host_call.hpp"

#include "ops/coll/host/folded_call.hpp"
#include "ops/coll/node/call_meeting.hpp"
#include "ops/coll/node/in_turns.hpp"
#include "ops/env/errors.hpp"
#include "ops/request/turns.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {

int HostCall::run(const std::function<void()> &refill) {
  if (call_.facts.is_in_rank_order) return fold_in_rank_order(call_, *member_);
  const auto block = [&] { return call_.block(call_); };
  if (call_.facts.follows_barrier) return after_barrier(call_.comm, block);
  if (meeting_.has_met) return guarded(call_.comm, [&] { return reap(call_fitting(refill)); });
  const Arrival own{.may_block = call_.facts.trusts_blocking, .goes_on = call_.facts.all_trust_blocking};
  return in_turns(call_.comm, block, [&](MPI_Request *request) { return call_.start(call_, request); }, own);
}

// All ranks are in the call, and know whether their lengths fit.
int HostCall::call_fitting(const std::function<void()> &refill) {
  if (!meeting_.lengths_fit) {
    refill();
    is_refilled_ = true;
  }
  const bool is_known = member_ != nullptr;  // as whoever has met is
  const bool meets_again = is_known && !meeting_.may_block && (meeting_.is_in_memory || !meeting_.lengths_fit);
  if (meets_again) meeting_ = meet_for_call(call_, *member_, {.stages = false, .is_for_host = false});
  if (meeting_.may_block) return call_.block(call_);
  return run_in_turns([this](MPI_Request *request) { return call_.start(call_, request); });
}

}  // namespace sluice::ops::coll
