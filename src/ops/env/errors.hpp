// SPDX-License-Identifier: BSD-3-Clause
// How a Status becomes an MPI error. All of it: any thread.
#pragma once

#include <exception>
#include <string>

#include "base/status.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// An MPI error code of the class that fits `status`, whose MPI_Error_string is the status's message. MPI has one text a
// code: the codes, one a class, carry the text of the class's last error. Remembers the text for sluice_last_error().
[[nodiscard]] int error_code(const Status &status);

// The kind of error that the host MPI's `code` is, by its class; kBackend for what has none.
[[nodiscard]] ErrorKind kind_of(int code) noexcept;

// The text of `code` when it was made by error_code; false, and `text` untouched, for every other code.
[[nodiscard]] bool find_error_text(int code, std::string *text);

// Raises `status` through the error handler of `communicator` and returns its code, as the host MPI does with its own
// errors. With MPI_ERRORS_ARE_FATAL (MPI's default) the host MPI ends the job; Sluice itself never does, but writes its
// text to the log first, because some host MPIs do not print the text of codes that were added.
int raise(MPI_Comm communicator, const Status &status);

// Runs `body`, which returns an MPI error code. An exception (memory ran out, mostly) becomes an MPI error: nothing may
// fly through a program that was written in C.
template <typename Body>
int guarded(MPI_Comm communicator, Body body) noexcept {
  try {
    return body();
  } catch (const std::exception &error) {
    return raise(communicator, Status::of_exception(error));
  }
}

// The text of this thread's last error; "" before the first. Valid until the thread's next error.
[[nodiscard]] const char *last_error() noexcept;
void set_last_error(const Status &status);

}  // namespace sluice::ops
