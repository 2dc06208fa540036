// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/host/folded_call.hpp"

#include "ops/coll/fold/fold.hpp"
#include "ops/coll/fold/rank_order.hpp"
#include "ops/coll/node/in_turns.hpp"
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
