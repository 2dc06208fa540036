// SPDX-License-Identifier: BSD-3-Clause
// Reductions that a device computes: between an operation and a backend's group `reduce`.
#pragma once

#include <span>

#include "base/status.hpp"
#include "device/place.hpp"
#include "device/queue.hpp"
#include "sluice/backend.h"

namespace sluice::device {

// Whether the device of `place` computes that pair. Warm: one call of the backend. Any thread.
[[nodiscard]] bool can_reduce(const Place &place, sluice_element_t element, sluice_operation_t operation) noexcept;

// The same by trying it, on one element of Sluice's own memory: true when the kernel is there and nothing is left to
// compile or to load. Hot but for the first time of a pair on a device, which blocks and may take seconds; the reason
// against it is said once. Any thread.
[[nodiscard]] bool has_kernel(const Place &place, sluice_element_t element, sluice_operation_t operation);

// Computes one reduction on the device of `place`, as sluice/backend.h says; blocks until the result is there for the
// CPU's copies and for every later command. can_reduce() was true. *is_refused: the backend cannot do it after all, and
// nothing was written; the caller takes another way, and the status has the reason. Any thread. Errors: the runtime's;
// what dst holds is not known then, unless *is_refused.
[[nodiscard]] Status reduce(const Place &place, const sluice_reduction_t &reduction, bool *is_refused);

// Enqueues them on `queue` in their order; returns before they are done. One thread at a time for a queue. Errors: the
// runtime's; what the destinations hold is not known then, and the queue is given up. *is_refused: nothing was
// enqueued, and nothing will be written.
[[nodiscard]] Status enqueue_reductions(Queue *queue, std::span<const sluice_reduction_t> reductions, bool *is_refused);

}  // namespace sluice::device
