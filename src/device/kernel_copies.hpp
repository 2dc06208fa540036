// SPDX-License-Identifier: BSD-3-Clause
// Copies by a kernel of a device, and an element that it compares and swaps: between an operation and a backend's group
// `kernel_copies`.
#pragma once

#include <span>

#include "base/status.hpp"
#include "device/place.hpp"
#include "device/queue.hpp"
#include "sluice/backend.h"

namespace sluice::device {

// Whether the device of `place` has such a kernel, by trying it on a few bytes of Sluice's own: true when it is there
// and nothing is left to compile or to load. Hot but for the first time on a device, which blocks and may take seconds;
// the reason against it is said once. Any thread.
[[nodiscard]] bool has_copy_kernel(const Place &place);

// Enqueues all copies, at most SLUICE_KERNEL_MAX_COPIES, as one kernel on `queue`; returns before they are done.
// Sources and destinations stay valid until a later PendingCopy on this queue is done. One thread at a time for a
// queue. Errors: the runtime's; the queue is given up then, unless *is_refused: nothing was enqueued, and enqueue() may
// do it.
[[nodiscard]] Status enqueue_kernel_copies(Queue *queue, std::span<const sluice_copy_t> copies, bool *is_refused);

// The same for an element of 1 to SLUICE_SWAP_MAX_BYTES, which nobody else writes to until it is done. One thread at a
// time for a queue. Errors: the runtime's; the queue is given up then, unless *is_refused: nothing was enqueued.
[[nodiscard]] Status enqueue_compare_and_swap(Queue *queue, const sluice_swap_t &swap, bool *is_refused);

}  // namespace sluice::device
