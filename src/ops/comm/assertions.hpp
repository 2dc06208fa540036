// SPDX-License-Identifier: BSD-3-Clause
// What a program has said about a communicator by MPI_Comm_set_info. Any thread.
#pragma once

#include "wire/mpi.hpp"

namespace sluice::ops {

// The key by which all ranks of a communicator say that messages on it are messages of queues on both sides.
inline constexpr const char *kQueuesOnlyKey = "sluice_assert_queues_only";

// Whether the program has said so. False for a communicator of which Sluice keeps nothing.
[[nodiscard]] bool has_queues_only(MPI_Comm comm);

}  // namespace sluice::ops
