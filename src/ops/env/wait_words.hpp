// SPDX-License-Identifier: BSD-3-Clause
// What MPI calls add to the table of waits (base/waiting.hpp). All of it: any thread, within an MPI call.
#pragma once

#include <string_view>

#include "base/types.hpp"
#include "base/waiting.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// The name of the communicator, which the host MPI is asked for, unless it is MPI_COMM_WORLD.
void tell_communicator(MPI_Comm comm, waiting::Wait *wait) noexcept;

// A call on a communicator that names no peer.
struct CallOnComm {
  std::string_view function;
  MPI_Comm comm;
};
// `subject`: a CallOnComm.
void tell_call_on_comm(const void *subject, waiting::Wait *wait) noexcept;

}  // namespace sluice::ops
