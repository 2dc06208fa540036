// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/rank_order.hpp"

#include <string>

#include "base/log.hpp"
#include "generated/operations.hpp"
#include "ops/coll/fold.hpp"
#include "ops/coll/two_level_reduction.hpp"
#include "ops/request/collective.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

int exchange(MPI_Comm comm, const FoldExchange &wanted) {
  const wire::Host &host = wire::host();
  return in_turns(
      comm,
      [&] {
        return host.MPI_Alltoallv(wanted.from, wanted.sent, wanted.sent_places, wanted.type, wanted.to, wanted.received,
                                  wanted.places, wanted.type, comm);
      },
      [&](MPI_Request *request) {
        return host.MPI_Ialltoallv(wanted.from, wanted.sent, wanted.sent_places, wanted.type, wanted.to,
                                   wanted.received, wanted.places, wanted.type, comm, request);
      });
}

}  // namespace

bool is_folded_in_rank_order(const Call &call, const Member &member) {
  return keeps_rank_order(call) && !member.is_inter && member.size > 1 && !is_by_own_operation(call.op) &&
         can_be_folded(call, member);
}

void say_fold(const Call &call) {
  if (log::level() < log::Level::kDebug) return;
  log::debug("plan",
             std::string(name(call.operation)) + ": staged -> in the order of the ranks: SLUICE_REDUCE_ORDER is rank");
}

int fold_in_rank_order(const Call &call, const Member &member) {
  say_fold(call);
  Fold fold(call, member);
  int first_error = MPI_SUCCESS;
  do {
    for (const int code : {exchange(call.comm, fold.gather()), fold.fold(), exchange(call.comm, fold.spread())}) {
      if (first_error == MPI_SUCCESS) first_error = code;
    }
  } while (fold.next());
  return first_error;
}

}  // namespace sluice::ops::coll
