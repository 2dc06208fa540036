// SPDX-License-Identifier: BSD-3-Clause
// What the module keeps to while a stream of the program's waits (../stream_waits.h): the runtime waits for all streams
// of a device before it frees memory of it or lets go of the host's (ROCm/clr, hipamd/src/hip_memory.cpp). So memory is
// given back later.
#pragma once

#include <functional>
#include <utility>

#include "../stream_waits.h"
#include "module.h"

namespace sluice::backends::hip {

// The shared give_back(); a failure of what runs later is logged.
inline sluice_result_t give_back(std::function<sluice_result_t()> release) {
  return backends::give_back(std::move(release), log_error);
}

}  // namespace sluice::backends::hip
