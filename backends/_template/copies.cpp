// SPDX-License-Identifier: BSD-3-Clause
// Queues, copies and tickets.
#include "module.h"

// What a queue is: the native stream, its device, and whatever tickets need, such as events in a ring.
struct sluice_queue {
  int32_t device;
};

namespace sluice::backends::template_backend {

// A native in-order stream that does not wait for the program's default stream. Restore the current device.
sluice_result_t queue_create(int32_t /*device*/, sluice_queue_t ** /*queue*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Wait for the stream, destroy it, delete the object.
sluice_result_t queue_destroy(sluice_queue_t * /*queue*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Begin all copies and return; one native batch where the runtime has such a call. Skip copies of no bytes. Check all
// before beginning the first, where it can be checked.
sluice_result_t enqueue_copies(sluice_queue_t * /*queue*/, const sluice_copy_t * /*copies*/, size_t /*n_copies*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Record an event behind what is in the stream; the ticket is its number, counted from 1.
sluice_result_t enqueue_ticket(sluice_queue_t * /*queue*/, uint64_t * /*ticket*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Look at the event, without waiting. Once a ticket is done, answer from a counter and reuse the event.
sluice_result_t test_ticket(sluice_queue_t * /*queue*/, uint64_t /*ticket*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Wait for the event.
sluice_result_t wait_ticket(sluice_queue_t * /*queue*/, uint64_t /*ticket*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Record an event in `other` and have the stream wait for it; where the runtime has no such thing leave the member
// null.
sluice_result_t enqueue_wait_for_queue(sluice_queue_t * /*queue*/, sluice_queue_t * /*other*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// The same as the three above in a row, by the fastest way for the size: measure before choosing.
sluice_result_t copy(sluice_queue_t * /*queue*/, void * /*dst*/, const void * /*src*/, size_t /*size_bytes*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

}  // namespace sluice::backends::template_backend
