// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a handle for memory: who made it, and a seal by which bytes that are no handle are told. A module's
// layout begins with `magic` and `checksum`, and has the maker's `pid`, `pid_namespace` and `start_time` behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "module_state.h"
#include "process_identity.h"

namespace sluice::backends {

// Of all that follows the checksum itself.
template <typename Layout>
uint32_t checksum_of(const sluice_ipc_handle_t &handle) {
  constexpr size_t kFrom = offsetof(Layout, checksum) + sizeof(Layout::checksum);
  return handle_checksum(handle.bytes + kFrom, sizeof handle.bytes - kFrom);
}

// Writes this process into `layout`, whose other members are the caller's, and the whole of it into *handle.
template <typename Layout>
void seal_handle(uint32_t magic, Layout *layout, sluice_ipc_handle_t *handle) {
  const ProcessIdentity self = this_process();
  layout->magic = magic;
  layout->checksum = 0;
  layout->pid = self.pid;
  layout->start_time = self.start_time;
  layout->pid_namespace = self.pid_namespace;
  sluice_ipc_handle_t made = {};
  std::memcpy(made.bytes, layout, sizeof *layout);
  layout->checksum = checksum_of<Layout>(made);
  std::memcpy(made.bytes, layout, sizeof *layout);
  *handle = made;
}

// SLUICE_SUCCESS when the bytes are a handle with that seal, `is_known` says that the module knows its content, and
// another process made it.
template <typename Layout, typename Known>
sluice_result_t open_seal(const sluice_ipc_handle_t &handle, uint32_t magic, Layout *layout, Known is_known) {
  std::memcpy(layout, handle.bytes, sizeof *layout);
  if (layout->magic != magic || layout->checksum != checksum_of<Layout>(handle) || !is_known(*layout)) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend, or one of another version");
  }
  if (this_process() == ProcessIdentity{layout->pid, layout->pid_namespace, layout->start_time}) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the handle is of this process itself; use the pointer");
  }
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends
