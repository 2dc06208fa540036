// SPDX-License-Identifier: BSD-3-Clause
// The group `ipc`: memory of other processes, as the runtime offers it.
#include <cstring>

#include "module.h"

namespace sluice::backends::emu {

static_assert(sizeof(emu_ipc_handle_t) == sizeof(sluice_ipc_handle_t));

sluice_result_t ipc_export(const void *address, sluice_ipc_handle_t *handle, uint64_t *base_offset,
                           uint64_t *size_bytes) {
  if (handle == nullptr || base_offset == nullptr || size_bytes == nullptr) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "ipc_export: null pointer");
  }
  emu_ipc_handle_t native;
  emu_pointer_info_t info;
  sluice_result_t result = translate(emu_ipc_export(address, &native));
  if (result == SLUICE_SUCCESS) result = translate(emu_pointer_query(address, &info));
  if (result != SLUICE_SUCCESS) return result;
  std::memcpy(handle->bytes, native.bytes, sizeof native.bytes);
  *base_offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(info.base);
  *size_bytes = info.size_bytes;
  return SLUICE_SUCCESS;
}

sluice_result_t ipc_open(int32_t device, const sluice_ipc_handle_t *handle, void **base, uint64_t *size_bytes) {
  const sluice_result_t given = check_opening(handle, base, size_bytes);
  if (given != SLUICE_SUCCESS) return given;
  const DeviceScope scope(device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  emu_ipc_handle_t native;
  std::memcpy(native.bytes, handle->bytes, sizeof native.bytes);
  void *mapped = nullptr;
  sluice_result_t result = translate(emu_ipc_open(&native, &mapped));
  if (result != SLUICE_SUCCESS) return result;
  emu_pointer_info_t info;
  result = translate(emu_pointer_query(mapped, &info));
  if (result != SLUICE_SUCCESS) {
    const sluice_result_t closed = translate(emu_ipc_close(mapped));
    return closed == SLUICE_SUCCESS ? result : closed;
  }
  *base = mapped;
  *size_bytes = info.size_bytes;
  return SLUICE_SUCCESS;
}

// The mapping is the process's, whichever device it was made for.
sluice_result_t ipc_close(int32_t device, void *base) {
  const DeviceScope scope(device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  if (base == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "ipc_close: null pointer");
  return translate(emu_ipc_close(base));
}

}  // namespace sluice::backends::emu
