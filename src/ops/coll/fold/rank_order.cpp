// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/fold/rank_order.hpp"

#include "generated/operations.hpp"
#include "ops/coll/reduction/reduction_pair.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {

bool keeps_rank_order(const Call &call) {
  return is_reduction(call.pattern) && wire::Channel::process().terms().keeps_rank_order &&
         !has_exact_results(call.input().type);
}

void say_fold(const Call &call) {
  log_plan(call, [] { return "staged -> in the order of the ranks: SLUICE_REDUCE_ORDER is rank"; });
}

}  // namespace sluice::ops::coll
