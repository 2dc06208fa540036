// SPDX-License-Identifier: BSD-3-Clause
// What this rank can say of itself.
#pragma once

#include <string>

#include "bench/doctor/findings.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::bench::doctor {

// Adds to what `sluice doctor` knew before MPI (src/command/doctor_facts.hpp): the host, the MPI, whether Sluice is in
// the process, the place, and of each backend the devices or why there are none. `only`: the one backend to ask; empty:
// all. Asking a backend starts its runtime. Collective. Throws MpiError.
Json facts_of_rank(const World &world, Json facts, const std::string &only);

}  // namespace sluice::bench::doctor
