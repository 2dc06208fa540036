// SPDX-License-Identifier: BSD-3-Clause
// Runs random programs of collective calls.
#pragma once

#include "tests/ranks/coll/places.hpp"
#include "tests/ranks/coll/random_calls.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests {

// All buffers take host memory in the reference run; Trial sees to that through its kinds. Collective.
void run_collective_program(Trial &run, const CollectiveProgram &program, const Places &places);

}  // namespace sluice::tests
