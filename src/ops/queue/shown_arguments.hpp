// SPDX-License-Identifier: BSD-3-Clause
// show(): whether the host MPI takes the arguments of a message that is to be enqueued. Threads: any, as a call for the
// queue.
#pragma once

#include "ops/queue/batch_queue.hpp"

namespace sluice::ops::queue {

// Shows the host MPI the program's arguments, unless it has taken the like on this queue before: they are its to
// refuse. Does not block. Returns an error code, raised already.
[[nodiscard]] int show(BatchQueue *queue, const Arguments &given);

}  // namespace sluice::ops::queue
