// SPDX-License-Identifier: BSD-3-Clause
// What the module keeps to while a stream of the program's waits (../stream_waits.h): the driver holds up whoever frees
// or unmaps memory or loads a kernel until the device is idle. So memory is given back later, and a kernel that is not
// there yet is refused with a text, so that the caller takes another way (docs/adr/0032).
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "../stream_waits.h"
#include "module.h"

namespace sluice::backends::cuda {

// Told before the driver is: from its call on others may be held up.
void wait_enqueued(const uint64_t *word, uint64_t least);
void waits_enqueued(std::span<const sluice_stream_receive_t> receives);
// Runs `call`, named `name` in texts, in the context of `device`. A device that was reset and a driver that is shut
// down have let go of memory themselves: no context, an answer of that sort and `when_gone` are successes. The caller
// is Quiet.
sluice_result_t give_back_now(int32_t device, const char *name, CUresult when_gone,
                              const std::function<CUresult()> &call);
// The same at once, or when no stream waits any more; then its failure is logged.
sluice_result_t give_back(int32_t device, const char *name, CUresult when_gone, std::function<CUresult()> call);

}  // namespace sluice::backends::cuda
