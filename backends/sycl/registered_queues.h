// SPDX-License-Identifier: BSD-3-Clause
// The program's streams: queues of the runtime that it registered (register_context) and then names by their address.
#pragma once

#include <optional>

#include "module.h"

namespace sluice::backends::sycl {

// Keeps a copy of the queue at `native`, so that what it stands for lives on; one that was registered under this
// address before is forgotten, and so are those that are no more where they were. Any thread.
void register_queue(const ::sycl::queue *native);
// The queue that was registered under this address, if the object there is still that one; nothing otherwise. Any
// address: it is read by way of the kernel, and never followed. Any thread.
std::optional<::sycl::queue> registered_queue(const void *native);
// The queue at this address is going to be destroyed. Any thread.
void forget_queue(const void *native);

}  // namespace sluice::backends::sycl
