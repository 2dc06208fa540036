// SPDX-License-Identifier: BSD-3-Clause
// Raising a Status through the error handler of a window, a file or a session: as raise() of errors.hpp, which does
// that on a communicator.
#pragma once

#include "base/status.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// Each calls the handler of its object once and returns the code. Errors: a handler that ends the job does so.
int raise_on_window(MPI_Win window, const Status &status);
int raise_on_file(MPI_File file, const Status &status);
int raise_on_session(MPI_Session session, const Status &status);

}  // namespace sluice::ops
