// SPDX-License-Identifier: BSD-3-Clause
// Owns the memory of other processes that is mapped here. The runtime gives no word on how it counts handles that are
// opened twice, so each is opened once for a device and counted here.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "ipc_handle.h"
#include "waits.h"

namespace sluice::backends::hip {

namespace {

struct Mapping {
  int32_t device;
  sluice_ipc_handle_t handle;
  void *base;
  uint64_t size_bytes;
  unsigned n_opened;  // 0: it is to be closed
};

std::mutex g_mutex;

std::vector<Mapping> &mappings() {
  // Never destroyed: memory may be given back while the process exits.
  static auto *all = new std::vector<Mapping>();
  return *all;
}

sluice_result_t check_calls() {
  if (g_runtime.hipIpcGetMemHandle != nullptr && g_runtime.hipIpcOpenMemHandle != nullptr &&
      g_runtime.hipIpcCloseMemHandle != nullptr) {
    return SLUICE_SUCCESS;
  }
  return fail(SLUICE_ERROR_UNSUPPORTED, "the HIP runtime has no hipIpcGetMemHandle; install a newer one");
}

// This process's number of the exporter's device, which may show it under another number or not at all; -1.
int32_t index_of(const char *pci_address) {
  const int32_t count = device_count();
  for (int32_t i = 0; i < count; ++i) {
    sluice_device_info_t info = {};
    if (device_info(i, &info) == SLUICE_SUCCESS && std::strcmp(info.pci_address, pci_address) == 0) return i;
  }
  return -1;
}

// A device that is not visible is left to the runtime, which may know better.
sluice_result_t check_reach(int32_t device, int32_t owner) {
  if (owner < 0 || owner == device || g_runtime.hipDeviceCanAccessPeer == nullptr) return SLUICE_SUCCESS;
  int can_access = 0;
  const sluice_result_t result =
      translate("hipDeviceCanAccessPeer", g_runtime.hipDeviceCanAccessPeer(&can_access, device, owner));
  if (result != SLUICE_SUCCESS || can_access != 0) return result;
  return fail(SLUICE_ERROR_UNSUPPORTED, "device " + std::to_string(device) + " does not reach the memory of device " +
                                            std::to_string(owner) + " (hipDeviceCanAccessPeer)");
}

sluice_result_t translate_open(hipError_t native, int32_t owner) {
  if (native == hipSuccess) return SLUICE_SUCCESS;
  const std::string text = native_text(g_runtime, "hipIpcOpenMemHandle", native);
  if (owner < 0) {
    return fail(SLUICE_ERROR_UNSUPPORTED, text +
                                              "; the exporter's device is not visible in this process "
                                              "(ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES)");
  }
  if (native == hipErrorNotSupported || native == hipErrorPeerAccessUnsupported) {
    return fail(SLUICE_ERROR_UNSUPPORTED, text);
  }
  return fail(SLUICE_ERROR_NATIVE, text + "; the exporter may have freed the memory or ended");
}

// How much is mapped from `base` on: what the handle says, or less. A runtime that knows nothing of memory that it has
// mapped leaves it at the handle's word.
uint64_t mapped_bytes(void *base, uint64_t told_bytes) {
  hipDeviceptr_t begin = nullptr;
  size_t whole_bytes = 0;
  if (g_runtime.hipMemGetAddressRange(&begin, &whole_bytes, base) != hipSuccess) return told_bytes;
  const auto before = static_cast<uint64_t>(static_cast<const char *>(base) - static_cast<const char *>(begin));
  return before < whole_bytes ? std::min<uint64_t>(told_bytes, whole_bytes - before) : 0;
}

// The lock is held.
auto find_mapping(int32_t device, const void *base) {
  return std::find_if(mappings().begin(), mappings().end(),
                      [&](const Mapping &one) { return one.device == device && one.base == base; });
}

// Unless it was opened again meanwhile.
sluice_result_t close_unused(int32_t device, void *base) {
  const std::scoped_lock lock(g_mutex);
  const auto found = find_mapping(device, base);
  if (found == mappings().end() || found->n_opened != 0) return SLUICE_SUCCESS;
  const DeviceScope scope(device);
  const hipError_t native =
      scope.result() == SLUICE_SUCCESS ? g_runtime.hipIpcCloseMemHandle(base) : hipErrorDeinitialized;
  // A runtime that is shut down has let go of the mapping itself.
  const sluice_result_t result =
      native == hipErrorDeinitialized ? SLUICE_SUCCESS : translate("hipIpcCloseMemHandle", native);
  if (result == SLUICE_SUCCESS) mappings().erase(found);
  return result;
}

}  // namespace

sluice_result_t ipc_export(const void *address, sluice_ipc_handle_t *handle, uint64_t *base_offset,
                           uint64_t *size_bytes) {
  if (handle == nullptr || base_offset == nullptr || size_bytes == nullptr) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "ipc_export: null pointer");
  }
  sluice_result_t result = check_calls();
  sluice_pointer_info_t info = {};
  if (result == SLUICE_SUCCESS) result = query_pointer(address, &info);
  if (result != SLUICE_SUCCESS) return result;
  if (info.kind != SLUICE_MEMORY_DEVICE || info.device < 0) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "the address is in no device memory that this process made");
  }
  const DeviceScope scope(info.device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  hipDeviceptr_t begin = nullptr;
  size_t whole_bytes = 0;
  result = translate("hipMemGetAddressRange",
                     g_runtime.hipMemGetAddressRange(&begin, &whole_bytes, const_cast<void *>(address)));
  if (result != SLUICE_SUCCESS) return result;
  HandleLayout layout = {};
  const hipError_t native = g_runtime.hipIpcGetMemHandle(&layout.native, begin);
  // Whatever the reason, this memory cannot be exported, and the copy through the host will show a defect by itself.
  if (native != hipSuccess) {
    return fail(SLUICE_ERROR_UNSUPPORTED, native_text(g_runtime, "hipIpcGetMemHandle", native));
  }
  layout.size_bytes = whole_bytes;
  layout.buffer_id = info.allocation_id;
  result = write_handle(info.device, &layout, handle);
  if (result != SLUICE_SUCCESS) return result;
  *base_offset = static_cast<uint64_t>(static_cast<const char *>(address) - static_cast<const char *>(begin));
  *size_bytes = whole_bytes;
  return SLUICE_SUCCESS;
}

// The lock is held over the runtime's call, so that an address that is closed and given again at once is not mistaken.
sluice_result_t ipc_open(int32_t device, const sluice_ipc_handle_t *handle, void **base, uint64_t *size_bytes) {
  const sluice_result_t given = check_opening(handle, base, size_bytes);
  if (given != SLUICE_SUCCESS) return given;
  run_releases();
  HandleLayout layout = {};
  sluice_result_t result = read_handle(*handle, &layout);
  if (result == SLUICE_SUCCESS) result = check_calls();
  if (result == SLUICE_SUCCESS) result = check_device(device);
  const int32_t owner = result == SLUICE_SUCCESS ? index_of(layout.device) : -1;
  if (result == SLUICE_SUCCESS) result = check_reach(device, owner);
  if (result != SLUICE_SUCCESS) return result;
  const std::scoped_lock lock(g_mutex);
  for (Mapping &one : mappings()) {
    if (one.device != device || std::memcmp(one.handle.bytes, handle->bytes, sizeof handle->bytes) != 0) continue;
    ++one.n_opened;
    *base = one.base;
    *size_bytes = one.size_bytes;
    return SLUICE_SUCCESS;
  }
  const DeviceScope scope(device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  result = translate_open(g_runtime.hipIpcOpenMemHandle(base, layout.native, hipIpcMemLazyEnablePeerAccess), owner);
  if (result != SLUICE_SUCCESS) return result;
  *size_bytes = mapped_bytes(*base, layout.size_bytes);
  mappings().push_back({device, *handle, *base, *size_bytes, 1});
  return SLUICE_SUCCESS;
}

bool is_opened(int32_t device, const void *address) {
  const std::scoped_lock lock(g_mutex);
  return std::any_of(mappings().begin(), mappings().end(), [&](const Mapping &one) {
    const auto *const begin = static_cast<const char *>(one.base);
    return one.n_opened != 0 && one.device == device && address >= begin && address < begin + one.size_bytes;
  });
}

sluice_result_t ipc_close(int32_t device, void *base) {
  {
    const std::scoped_lock lock(g_mutex);
    const auto found = find_mapping(device, base);
    if (found == mappings().end() || found->n_opened == 0) {
      return fail(SLUICE_ERROR_INVALID_ARGUMENT,
                  "this address was not opened by ipc_open for device " + std::to_string(device) + ", or is closed");
    }
    if (--found->n_opened > 0) return SLUICE_SUCCESS;
  }
  return give_back([device, base] { return close_unused(device, base); });
}

}  // namespace sluice::backends::hip
