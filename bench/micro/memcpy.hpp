// SPDX-License-Identifier: BSD-3-Clause
// Measures of the device runtime without MPI.
#pragma once

#include "bench/session.hpp"

namespace sluice::bench {

// Collective; rank 0 measures. Copies between device memory and the four staging memories, both ways.
void run_memcpy(Session &session);

}  // namespace sluice::bench
