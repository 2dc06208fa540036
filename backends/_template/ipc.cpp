// SPDX-License-Identifier: BSD-3-Clause
// Device memory of one process used by another on the same node. An optional group: all three functions stand in the
// table or none; without it messages between processes go through the host.
#include "module.h"

namespace sluice::backends::template_backend {

// Find the allocation that holds the address, and ask the runtime for its handle. Write into the 128 bytes: a number
// that says "a handle of this backend", a checksum, who made it (../process_identity.h), and the runtime's own bytes.
// Where the runtime may give an address out again, add the allocation's id, so that two handles differ. Memory that
// cannot be exported (managed, pooled, host): SLUICE_ERROR_UNSUPPORTED with a text that says what to use instead.
sluice_result_t ipc_export(const void * /*address*/, sluice_ipc_handle_t * /*handle*/, uint64_t * /*base_offset*/,
                           uint64_t * /*size_bytes*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Trust nothing in the handle: check number and checksum before the runtime sees a byte of it. Refuse one of this
// process (SLUICE_ERROR_INVALID_ARGUMENT). Remember the context that it was opened in. Restore the current device. Ask
// the runtime how much is mapped; do not take the handle's word for it.
sluice_result_t ipc_open(int32_t /*device*/, const sluice_ipc_handle_t * /*handle*/, void ** /*base*/,
                         uint64_t * /*size_bytes*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

// Refuse an address that ipc_open did not give. A context that is gone has let go of the memory itself.
sluice_result_t ipc_close(int32_t /*device*/, void * /*base*/) {
  return fail(SLUICE_ERROR_NO_DEVICE, "the template has no device");
}

}  // namespace sluice::backends::template_backend
