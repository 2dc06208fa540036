// SPDX-License-Identifier: BSD-3-Clause
// The program's request for a non-blocking or persistent collective call that is not the host MPI's (docs/adr/0017): a
// generalized request of the host MPI's, so that it is real and unique, or for a persistent call a persistent one that
// is never started. All of it: any thread.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "ops/coll/call/call.hpp"
#include "progress/tracked_requests.hpp"

namespace sluice::ops::coll {

// Makes it into *call.request, and puts `tracked` beside it; *request is the one that has to be completed, of a
// non-blocking call. Returns the host MPI's error code, raised already.
[[nodiscard]] int make_request(const Call &call, progress::TrackedPtr tracked, MPI_Request *request);

// The host MPI's error in its own words, of the kind that its class is. Errors: always that one.
[[nodiscard]] Status host_error(const Call &call, int code);

}  // namespace sluice::ops::coll
