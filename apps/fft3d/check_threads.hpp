// SPDX-License-Identifier: BSD-3-Clause
// How many threads a rank may check in without taking cores from the others of its host.
#pragma once

#include "bench/mpi/world.hpp"

namespace sluice::apps::fft3d {

// Collective. The cores that this process may run on, each shared with the ranks of its host that may run there too:
// all cores of a rank that is bound to its own, an equal part of those that are nobody's own. At least 1. Throws
// MpiError.
unsigned fair_threads(const bench::World &world);

}  // namespace sluice::apps::fft3d
