// SPDX-License-Identifier: BSD-3-Clause
// Makes a random collective call, in its form.
#pragma once

#include "tests/ranks/coll/call_buffers.hpp"

namespace sluice::tests {

// Calls the function of MPI. A non-blocking call gives an active request, a persistent one an inactive one; a blocking
// one leaves *request alone.
void issue(Trial &run, const CollectiveCall &call, const CallBuffers &buffers, MPI_Comm comm, MPI_Request *request);

}  // namespace sluice::tests
