// SPDX-License-Identifier: BSD-3-Clause
// MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw in all their forms: a block from everybody for everybody.
#include "ops/coll/carry_out.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

bool has_topology(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  return comm != MPI_COMM_NULL && wire::host().MPI_Topo_test(comm, &topology) == MPI_SUCCESS &&
         topology != MPI_UNDEFINED;
}

}  // namespace

int alltoall(Call *call) {
  call->pattern = Pattern::kAlltoall;
  // All ranks exchange in place or none. In Open MPI 4 the non-blocking form of that takes no part in the numbering of
  // operations at a rank that has nothing to exchange, so that all later ones never end.
  call->comes_after_barrier = call->send.is_in_place();
  // Open MPI 4's MPI_Ialltoallw takes a communicator with a topology for a neighbourhood, and looks for as many types.
  if (call->send.has_types && call->form == Form::kBlocking && look_whether_member_matters()) {
    call->comes_after_barrier |= has_topology(call->comm);
  }
  return carry_out(call, [call](const Member &member, Sides *sides) -> Status {
    // With MPI_IN_PLACE the blocks are exchanged; what describes the other buffer means nothing then.
    const Access received = call->send.is_in_place() ? Access::kReadWrite : Access::kWrite;
    Status status = sides->send.classify(call->send, member.n_peers, {Access::kRead}, Use::kMoved);
    if (!status.is_ok()) return status;
    return sides->recv.classify(call->recv, member.n_peers, {received}, Use::kMoved);
  });
}

}  // namespace sluice::ops::coll
