// SPDX-License-Identifier: BSD-3-Clause
// Persistent operations of the program's in queues: sluice_enqueue_persistent.
#pragma once

#include "ops/queue/carrier.hpp"

namespace sluice::ops::queue {

// Whether `persistent` can be started. Errors: it is MPI_REQUEST_NULL or active; `request` is null.
[[nodiscard]] Status check_persistent(MPI_Request persistent, const MPI_Request *request);

// As the program's own MPI_Start would; `persistent` stays the program's.
[[nodiscard]] CarrierPtr make_persistent_carrier(MPI_Request persistent);

}  // namespace sluice::ops::queue
