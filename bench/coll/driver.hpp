// SPDX-License-Identifier: BSD-3-Clause
// What all collectives share: for each size, first the checked iterations, then the timed blocks.
#pragma once

#include "bench/coll/collective.hpp"
#include "bench/coll/exchange.hpp"
#include "bench/session.hpp"

namespace sluice::bench {

// Collective. Measures one form of a collective over MPI_COMM_WORLD. A sample is the time from the common start to the
// moment when the last rank is done. Throws AgreedError for what all ranks know, other exceptions for what only this
// one does.
void run_collective(Session &session, const Collective &collective, Form form);

}  // namespace sluice::bench
