// SPDX-License-Identifier: BSD-3-Clause
// Triggers and waits on the program's streams. Two optional groups: `stream`, five functions, and what tests need of
// it, `program_stream`, four; each stands in the table whole or not at all. Without them there are no queues
// (include/sluice/queue.h) on this vendor's streams, and libsluice says so.
#include "module.h"

namespace sluice::backends::template_backend {

// 1 or -1 only if the runtime can tell for any address; else 0.
int32_t stream_query(const void * /*native*/) {
  return -1;
}

// Find the stream's device and context; ask the device whether it can write and await 64-bit words.
sluice_result_t stream_open(void * /*native*/, sluice_stream_t ** /*stream*/, int32_t * /*device*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Let go of what stream_open made; what is enqueued stays so.
sluice_result_t stream_close(sluice_stream_t * /*stream*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// The runtime's stream memory operations. Refuse a word that is not memory of host_alloc before the runtime sees it,
// and a stream that is being captured. Restore the current device.
sluice_result_t stream_write(sluice_stream_t * /*stream*/, uint64_t * /*word*/, uint64_t /*value*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Never by a host function that blocks: it would hold up the runtime's own threads.
sluice_result_t stream_wait(sluice_stream_t * /*stream*/, const uint64_t * /*word*/, uint64_t /*least*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// The vendor's plainest calls for the same.
sluice_result_t program_stream_create(void ** /*native*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

sluice_result_t program_stream_destroy(void * /*native*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

sluice_result_t program_stream_copy(void * /*native*/, void * /*dst*/, const void * /*src*/, size_t /*size_bytes*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

sluice_result_t program_stream_synchronize(void * /*native*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

}  // namespace sluice::backends::template_backend
