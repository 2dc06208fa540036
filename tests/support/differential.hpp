// SPDX-License-Identifier: BSD-3-Clause
// Random programs, run on host copies and on random kinds of memory: both runs must agree in every byte and note.
// --seed and --programs choose them; a failure prints the seed that repeats it. With --digests each program prints a
// number for all that came out, which must be the same under the host MPI alone (tools/differential).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/support/oracle.hpp"

namespace sluice::tests {

// Runs the program of `seed`; `trace` says how to repeat it, for threads that the run starts.
using ProgramRun = std::function<void(Trial &run, std::uint64_t seed, const std::string &trace)>;

// Compares as many programs as the options or else the matrix say; stops after the first that fails on any rank.
// Collective. To be called by a test of the suite `Differential`.
void compare_programs(int n_quick, int n_full, const ProgramRun &run);

}  // namespace sluice::tests
