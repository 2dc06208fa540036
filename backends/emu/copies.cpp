// SPDX-License-Identifier: BSD-3-Clause
// Queues, copies and tickets. A sluice_queue_t is the runtime's queue itself.
#include <cstddef>

#include "module.h"

namespace sluice::backends::emu {
namespace {

emu_queue_t *native(sluice_queue_t *queue) {
  return reinterpret_cast<emu_queue_t *>(queue);
}

// The two descriptions of a copy are the same bytes, so that a batch is handed on as it is.
static_assert(sizeof(sluice_copy_t) == sizeof(emu_copy_t));
static_assert(offsetof(sluice_copy_t, dst) == offsetof(emu_copy_t, dst));
static_assert(offsetof(sluice_copy_t, src) == offsetof(emu_copy_t, src));
static_assert(offsetof(sluice_copy_t, size_bytes) == offsetof(emu_copy_t, size_bytes));

}  // namespace

sluice_result_t queue_create(int32_t device, sluice_queue_t **queue) {
  if (queue == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "queue_create: null pointer");
  const DeviceScope scope(device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  emu_queue_t *made = nullptr;
  const sluice_result_t result = translate(emu_queue_create(&made));
  if (result == SLUICE_SUCCESS) *queue = reinterpret_cast<sluice_queue_t *>(made);
  return result;
}

sluice_result_t queue_destroy(sluice_queue_t *queue) {
  return translate(emu_queue_destroy(native(queue)));
}

sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  return translate(emu_memcpy_batch_async(native(queue), reinterpret_cast<const emu_copy_t *>(copies), n_copies));
}

sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket) {
  return translate(emu_queue_record(native(queue), ticket));
}

sluice_result_t test_ticket(sluice_queue_t *queue, uint64_t ticket) {
  return translate(emu_ticket_query(native(queue), ticket));
}

sluice_result_t wait_ticket(sluice_queue_t *queue, uint64_t ticket) {
  return translate(emu_ticket_wait(native(queue), ticket));
}

sluice_result_t enqueue_wait_for_queue(sluice_queue_t *queue, sluice_queue_t *other) {
  return translate(emu_queue_wait_queue(native(queue), native(other)));
}

sluice_result_t copy(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  return translate(emu_queue_memcpy(native(queue), dst, src, size_bytes));
}

}  // namespace sluice::backends::emu
