// SPDX-License-Identifier: BSD-3-Clause
// What this thread has been told of addresses lately. An operation asks what its buffers are, and a kernel that is
// launched for it touches the same ones: it need not ask again whether it may.
#pragma once

#include <cstdint>

#include "module.h"

namespace sluice::backends::cuda {

// The driver has just said that `address` is memory of `device`, in the allocation of that number. Hot.
void note_look(const void *address, int32_t device, unsigned long long buffer_id);

// Whether the latest look at an allocation that holds `address` found memory of `device`. False: no look at it is left
// here. As exact as those looks: memory that was freed since, and not looked at again, passes. Hot; one question to the
// driver where an allocation is new.
bool was_seen_on(int32_t device, const void *address);

}  // namespace sluice::backends::cuda
