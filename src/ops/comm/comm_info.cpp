// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_set_info and MPI_Comm_get_info: the host MPI has the info of a communicator, and Sluice keeps the assertion
// that it does not know. As of other hints, all ranks give the same, and a call that does not name the key leaves it.
#include "generated/operations.hpp"
#include "ops/comm/assertions.hpp"
#include "ops/comm/comm_state.hpp"
#include "ops/env/errors.hpp"
#include "ops/env/memory_kinds.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

bool has_queues_only(MPI_Comm comm) {
  const CommStatePtr state = state_of(comm);
  return state != nullptr && state->has_queues_only.load(std::memory_order_relaxed);
}

int comm_set_info(MPI_Comm comm, MPI_Info info) {
  const int result = wire::host().MPI_Comm_set_info(comm, info);
  if (result != MPI_SUCCESS) return result;
  return guarded(comm, [&] {
    const std::optional<std::string> value = value_of(info, kQueuesOnlyKey);
    if (!value) return MPI_SUCCESS;
    if (const CommStatePtr state = state_of(comm); state != nullptr) {
      state->has_queues_only.store(*value == "true", std::memory_order_relaxed);
    }
    return MPI_SUCCESS;
  });
}

int comm_get_info(MPI_Comm comm, MPI_Info *info_used) {
  const int result = wire::host().MPI_Comm_get_info(comm, info_used);
  if (result != MPI_SUCCESS) return result;
  return guarded(comm, [&] {
    add_memory_kinds(*info_used);
    return has_queues_only(comm) ? wire::host().MPI_Info_set(*info_used, kQueuesOnlyKey, "true") : MPI_SUCCESS;
  });
}

}  // namespace sluice::ops
