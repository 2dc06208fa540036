// SPDX-License-Identifier: BSD-3-Clause
// Numbers for communicators that all their members find without asking each other: a message outside the host MPI says
// with one of these which communicator it belongs to.
//
// MPI_COMM_WORLD is the root. A duplicate's number follows from that of the communicator it was made of and from how
// many were made of it before: duplicating is collective, so all members count alike (an attribute's copy function
// counts). Any other communicator (MPI_Comm_split, MPI_Cart_create, ...) is numbered by its members in their order. So
// two of those with the same members have one number: the second that a process uses here is refused.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::queue {

// From now on duplicates are counted. In MPI_Init. Errors: the host MPI refuses. One thread, as for end_comm_numbers().
[[nodiscard]] Status begin_comm_numbers();
void end_comm_numbers() noexcept;

// The number of `comm`, an intra-communicator within MPI_COMM_WORLD, of `n_bits` (at most 32) bits. Any thread. Warm.
// Errors: it has the number of another communicator that this process has used here.
[[nodiscard]] Status comm_number(MPI_Comm comm, unsigned n_bits, std::uint32_t *number);

}  // namespace sluice::ops::queue
