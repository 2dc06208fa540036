// SPDX-License-Identifier: BSD-3-Clause
// How pieces of memory get from the process that has them to one that was given their handle: over a local socket,
// since a descriptor cannot travel in a message, and a piece that was exported beforehand would keep freed memory
// alive.
#pragma once

#include <cstdint>

#include "ipc_handle.h"
#include "pieces.h"

namespace sluice::backends::cuda {

// Starts this process's server, a thread that sleeps until it is asked, when there is none yet, and says where it
// listens. Only processes of the same user are answered. Any thread.
sluice_result_t serve_pieces(uint64_t socket_name[2]);
// Ends the thread. Any thread; nothing of the driver's is called.
void stop_serving_pieces();

// Asks the process that wrote `layout` for its pieces and maps them for `device`. Blocks for seconds at most. When that
// process cannot be reached, SLUICE_ERROR_UNSUPPORTED, and it is not asked again.
sluice_result_t fetch_pieces(const HandleLayout &layout, int32_t device, void **base);

}  // namespace sluice::backends::cuda
