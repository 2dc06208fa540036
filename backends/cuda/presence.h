// SPDX-License-Identifier: BSD-3-Clause
// Whether other processes work on a device, too.
#pragma once

#include <cstdint>

namespace sluice::backends::cuda {

// Lets other processes know that this one works on the device, until it ends. Any thread; once for each device.
void presence_hold(int32_t device);

// Whether no other process of this user on this machine has said so, as far as they see the same /dev/shm. A system
// call. Any thread.
bool is_alone(int32_t device);

// Whether processes that share the device have it at the same time, through the vendor's multi-process service, and not
// by turns. False where the driver cannot say. A call of the driver.
bool is_shared_at_once(int32_t device);

}  // namespace sluice::backends::cuda
