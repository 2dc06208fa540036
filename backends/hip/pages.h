// SPDX-License-Identifier: BSD-3-Clause
// Pages that this module has mapped, for the runtime to pin.
#pragma once

#include "../staging_pages.h"
#include "module.h"

namespace sluice::backends::hip {

// Lets all devices reach them; a device may have an address of its own for them. The device is current.
sluice_result_t pin_pages(const Pages &pages);
// Undoes the pinning, for `device`, and the mapping: at once, or later while a stream waits. No word of theirs is in
// use any more.
sluice_result_t give_back_pages(int32_t device, const Pages &pages);

}  // namespace sluice::backends::hip
