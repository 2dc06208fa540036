// SPDX-License-Identifier: BSD-3-Clause
// What a call of the host MPI that failed becomes: one Status, made in one place, with the host MPI's own words.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "wire/mpi.hpp"

namespace sluice::wire {

// The host MPI's text for `code`, which it returned; "" where it has none. Any thread; allocates.
[[nodiscard]] std::string error_text(int code);

// "the host MPI could not <what>: <its text>; <remedy>", of ErrorKind::kBackend. `what` continues the sentence, as
// "receive a block". For calls that Sluice makes on its own account: what the host MPI says of the program's arguments
// is handed on as it is. Any thread. Errors: always that one.
[[nodiscard]] Status host_failure(int code, std::string_view what,
                                  std::string_view remedy =
                                      "with SLUICE_ENABLE=0 the host MPI works alone, on host "
                                      "memory: see whether it fails there, too");

// The same where `code` may be MPI_SUCCESS, which is no error.
[[nodiscard]] inline Status host_status(int code, std::string_view what) {
  return code == MPI_SUCCESS ? Status() : host_failure(code, what);
}

}  // namespace sluice::wire
