// SPDX-License-Identifier: BSD-3-Clause
// The point-to-point tests. All are collective over two ranks.
#pragma once

#include "bench/session.hpp"

namespace sluice::bench {

void run_latency(Session &session);
void run_bandwidth(Session &session);
void run_bidirectional_bandwidth(Session &session);

}  // namespace sluice::bench
