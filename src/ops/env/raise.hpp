// SPDX-License-Identifier: BSD-3-Clause
// Raising a Status through the error handler of a window, a file or a session: as raise() of errors.hpp, which does
// that on a communicator. All of it: any thread.
#pragma once

#include <exception>

#include "base/status.hpp"
#include "ops/env/errors.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// Each calls the handler of its object once and returns the code. Errors: a handler that ends the job does so.
int raise_on_window(MPI_Win window, const Status &status);
int raise_on_file(MPI_File file, const Status &status);
int raise_on_session(MPI_Session session, const Status &status);

// As guarded() of errors.hpp, for a call on a file.
template <typename Body>
int guarded_on_file(MPI_File file, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception &error) {
    return raise_on_file(file, Status::of_exception(error));
  }
}

}  // namespace sluice::ops
