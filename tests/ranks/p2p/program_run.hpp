// SPDX-License-Identifier: BSD-3-Clause
// Runs random programs: this rank's part of each round, on the communicators of its lane.
#pragma once

#include <mpi.h>

#include "tests/ranks/p2p/random_program.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests {

// Where the messages of a lane travel: those whose receives are posted first, and the late ones.
struct LaneComms {
  MPI_Comm posted = MPI_COMM_NULL;
  MPI_Comm late = MPI_COMM_NULL;
};

// Runs one lane of a program; `lane_index` makes its data its own. All buffers take host memory in the reference run;
// Trial sees to that through its kinds. Collective over the lane's communicators. A buffer for buffered sends is
// attached.
void run_lane(Trial &run, const Lane &lane, int lane_index, const LaneComms &comms);

}  // namespace sluice::tests
