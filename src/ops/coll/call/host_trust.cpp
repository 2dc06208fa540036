// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/call/host_trust.hpp"

#include <algorithm>
#include <array>

#include "ops/comm/comm_state.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/env/host_library.hpp"

namespace sluice::ops::coll {

bool is_by_own_operation(MPI_Op op) {
  const std::array predefined = {MPI_OP_NULL, MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD,
                                 MPI_LAND,    MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR,
                                 MPI_BXOR,    MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
  return std::find(predefined.begin(), predefined.end(), op) == predefined.end();
}

// MPI_Reduce in place: MPICH 4.0's reads at MPI_IN_PLACE, from 2 KiB on, where the root is not 0. With a datatype that
// is not predefined: Intel MPI's MPI_Allgather receives wrong bytes. What means nothing at a rank counts, too: it makes
// the call slower, no more.
bool all_trust_blocking(const Call &call) {
  static const bool may_distrust_reduce = is_host_library("MPICH Version:\t4.0");
  static const bool may_distrust_allgather = is_host_library("Intel(R) MPI");
  if (call.pattern == Pattern::kReduce) return !may_distrust_reduce;
  return call.pattern != Pattern::kAllgather || !may_distrust_allgather;
}

bool is_between_groups(MPI_Comm comm) {
  const CommState *const state = state_for_call(comm);
  return state != nullptr && state->is_inter;
}

bool trusts_blocking(const Call &call) {
  const auto is_predefined = [](const Argument &argument) {
    transfer::LayoutPtr layout;
    return argument.is_in_place() ||
           (!argument.has_types && (argument.type == MPI_DATATYPE_NULL || named_layout(argument.type, &layout)));
  };
  if (all_trust_blocking(call)) return true;
  if (call.pattern == Pattern::kReduce) return !call.send.is_in_place();
  return is_predefined(call.send) && is_predefined(call.recv);
}

}  // namespace sluice::ops::coll
