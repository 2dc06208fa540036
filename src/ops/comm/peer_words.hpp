// SPDX-License-Identifier: BSD-3-Clause
// The other end of a message, for the table of waits (base/waiting.hpp). All of it: any thread, within an MPI call.
#pragma once

#include "base/waiting.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// `peer` and `tag` as the program names them. Also tells the peer's rank in MPI_COMM_WORLD, and the communicator, which
// is one that the program cannot have freed: that of a blocking call that goes on. MPI_COMM_NULL: tells peer and tag.
void tell_peer(MPI_Comm comm, int peer, int tag, waiting::Wait *wait) noexcept;

// The same without any question to the host MPI: a peer of another communicator than MPI_COMM_WORLD has no rank there.
// For requests, whose communicator the program may have freed. Warm.
void tell_peer_at_once(MPI_Comm comm, int peer, int tag, waiting::Wait *wait) noexcept;

}  // namespace sluice::ops
