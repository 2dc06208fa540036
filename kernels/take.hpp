// SPDX-License-Identifier: BSD-3-Clause
// The body of the kernel that takes a queue's message out of its slot, where waiting for it and telling of it are
// commands of others (docs/adr/0033).
#pragma once

#include "message.hpp"

namespace sluice::kernels {

// What one of `n_items` work-items does. Each looks at the word itself, which has come and stays as it is.
SLUICE_KERNELS_FUNCTION void take_share(const MessageTask &task, std::uint64_t item, std::uint64_t n_items) {
  message_share(task, message_begin(task, 0, nullptr), item, n_items);
}

}  // namespace sluice::kernels
