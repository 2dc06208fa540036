// SPDX-License-Identifier: BSD-3-Clause
// Commands on a queue that are no copies. What is in a queue (queue_state.h) is for copies.cpp and batches.cpp only.
#pragma once

#include <functional>
#include <span>

#include "module.h"

namespace sluice::backends::sycl {

// Has some queues of `device` ready for when a stream waits; does nothing while one does. Throws what the runtime
// throws.
sluice_result_t prepare_queues(int32_t device);

const ::sycl::device &device_of(const sluice_queue_t *queue);

// The context of the lane that a command on these addresses takes. Throws what the runtime throws.
::sycl::context context_for(sluice_queue_t *queue, std::span<const void *const> addresses);

// Submits one command to the runtime's in-order queue and returns its event. May throw what the runtime throws.
using Command = std::function<::sycl::event(::sycl::queue *)>;

// Enqueues a command in the lane of these addresses, behind all that was enqueued before. An error ends the queue, as
// that of a copy does.
sluice_result_t enqueue_command(sluice_queue_t *queue, std::span<const void *const> addresses, const Command &command);

}  // namespace sluice::backends::sycl
