// SPDX-License-Identifier: BSD-3-Clause
// What the module keeps to while a stream of the program's waits (../stream_waits.h): the runtime waits for all streams
// of a device before it frees memory of it or lets go of the host's (ROCm/clr, hipamd/src/hip_memory.cpp). So memory is
// given back later.
#pragma once

#include <functional>

#include "../stream_waits.h"
#include "module.h"

namespace sluice::backends::hip {

// Runs `release`, which gives something back to the runtime, and answers as it does; or success, where a stream waits:
// then it runs when none does any more, and its failure is logged. The caller holds nothing that it wants.
sluice_result_t give_back(std::function<sluice_result_t()> release);

}  // namespace sluice::backends::hip
