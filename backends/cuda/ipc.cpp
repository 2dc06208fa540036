// SPDX-License-Identifier: BSD-3-Clause
// Owns the memory of other processes that is mapped here, and the bytes of a handle. The driver's own handle names an
// allocation of cuMemAlloc; other memory (virtual memory, pools, managed) has none, and is refused with a text.
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "../process_identity.h"
#include "module.h"

namespace sluice::backends::cuda {

namespace {

constexpr uint32_t kMagic = 0x43495544;  // "DUIC"
// The way from the handle to the memory. One so far; another number is another version's.
constexpr uint32_t kDriverHandle = 1;

// What lies in sluice_ipc_handle_t. The buffer's number is in it, so that handles of two allocations that followed each
// other at one address differ, whatever the driver's own bytes do.
struct Layout {
  uint32_t magic;
  uint32_t checksum;  // of all that follows
  uint32_t mechanism;
  int32_t pid;
  uint64_t start_time;
  uint32_t pid_namespace;
  uint32_t zero;
  uint64_t size_bytes;
  uint64_t buffer_id;
  CUuuid device;
  CUipcMemHandle native;
};
static_assert(sizeof(Layout) <= sizeof(sluice_ipc_handle_t) && std::is_trivially_copyable_v<Layout>);

uint32_t checksum_of(const sluice_ipc_handle_t &handle) {
  constexpr size_t kFrom = offsetof(Layout, mechanism);
  return handle_checksum(handle.bytes + kFrom, sizeof handle.bytes - kFrom);
}

bool has_driver_calls() {
  return g_driver.cuIpcGetMemHandle != nullptr && g_driver.cuIpcOpenMemHandle != nullptr &&
         g_driver.cuIpcCloseMemHandle != nullptr && g_driver.cuDeviceGetUuid != nullptr;
}

sluice_result_t check_driver_calls() {
  if (has_driver_calls()) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED, "the driver has no cuIpcGetMemHandle; install a newer one");
}

// ---- export ----

struct Allocation {
  unsigned type = 0;
  unsigned is_managed = 0;
  unsigned has_driver_handle = 0;
  int device = -1;
  unsigned long long buffer_id = 0;
  CUdeviceptr begin = 0;
  size_t size_bytes = 0;
  CUmemoryPool pool = nullptr;
};

// SLUICE_SUCCESS when the address is in memory that cuIpcGetMemHandle takes.
sluice_result_t describe_allocation(CUdeviceptr address, Allocation *found) {
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                      CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
  void *values[] = {&found->type,      &found->is_managed, &found->has_driver_handle, &found->device,
                    &found->buffer_id, &found->begin,      &found->size_bytes,        &found->pool};
  const CUresult native = g_driver.cuPointerGetAttributes(std::size(attributes), attributes, values, address);
  if (native != CUDA_SUCCESS || found->type != CU_MEMORYTYPE_DEVICE || found->is_managed != 0) {
    return fail(SLUICE_ERROR_UNSUPPORTED, found->is_managed != 0
                                              ? "managed memory has no handle for other processes"
                                              : "the address is in no device memory that this process made");
  }
  if (found->has_driver_handle != 0) return SLUICE_SUCCESS;
  if (found->pool != nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "memory of a stream-ordered pool (cuMemAllocAsync) has no handle for other processes; use cuMemAlloc "
                "for buffers that are sent often");
  }
  return fail(SLUICE_ERROR_UNSUPPORTED,
              "virtual memory (cuMemCreate, as PyTorch's expandable_segments uses it), or memory that another process "
              "made, has no handle for other processes; use cuMemAlloc for buffers that are sent often");
}

sluice_result_t fill_handle(const Allocation &allocation, sluice_ipc_handle_t *handle) {
  Layout layout = {};
  CUdevice ordinal = 0;
  sluice_result_t result = translate("cuDeviceGet", g_driver.cuDeviceGet(&ordinal, allocation.device));
  if (result == SLUICE_SUCCESS) {
    result = translate("cuDeviceGetUuid", g_driver.cuDeviceGetUuid(&layout.device, ordinal));
  }
  if (result != SLUICE_SUCCESS) return result;
  const CUresult native = g_driver.cuIpcGetMemHandle(&layout.native, allocation.begin);
  // Whatever the reason, this memory cannot be exported, and the copy through the host will show a defect by itself.
  if (native != CUDA_SUCCESS) {
    return fail(SLUICE_ERROR_UNSUPPORTED, native_text(g_driver, "cuIpcGetMemHandle", native));
  }
  const ProcessIdentity self = this_process();
  layout.magic = kMagic;
  layout.mechanism = kDriverHandle;
  layout.pid = self.pid;
  layout.start_time = self.start_time;
  layout.pid_namespace = self.pid_namespace;
  layout.size_bytes = allocation.size_bytes;
  layout.buffer_id = allocation.buffer_id;
  sluice_ipc_handle_t made = {};
  std::memcpy(made.bytes, &layout, sizeof layout);
  layout.checksum = checksum_of(made);
  std::memcpy(made.bytes, &layout, sizeof layout);
  *handle = made;
  return SLUICE_SUCCESS;
}

// ---- open ----

// One address that the driver gave. The driver counts how often one context opened one handle and gives the same
// address again, and so does this.
struct Mapping {
  CUcontext context = nullptr;
  unsigned n_opened = 0;
  unsigned n_retained = 0;  // references to the primary context, given back with the mapping
};

std::mutex g_mutex;

using MappingKey = std::pair<int32_t, void *>;  // the device that uses it, and the address

std::map<MappingKey, Mapping> &mappings() {
  // Never destroyed: memory may be given back while the process exits.
  static auto *all = new std::map<MappingKey, Mapping>();
  return *all;
}

sluice_result_t read_layout(const sluice_ipc_handle_t &handle, Layout *layout) {
  std::memcpy(layout, handle.bytes, sizeof *layout);
  if (layout->magic != kMagic || layout->checksum != checksum_of(handle) || layout->mechanism != kDriverHandle) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "these bytes are no handle of this backend, or one of another version");
  }
  const ProcessIdentity self = this_process();
  if (self == ProcessIdentity{layout->pid, layout->pid_namespace, layout->start_time}) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the handle is of this process itself; use the pointer");
  }
  return SLUICE_SUCCESS;
}

// This process's number of the exporter's device, which may show it under another number or not at all; -1.
int32_t index_of(const CUuuid &device) {
  const int32_t count = device_count();
  for (int32_t i = 0; i < count; ++i) {
    CUdevice ordinal = 0;
    CUuuid uuid = {};
    const bool is_known =
        g_driver.cuDeviceGet(&ordinal, i) == CUDA_SUCCESS && g_driver.cuDeviceGetUuid(&uuid, ordinal) == CUDA_SUCCESS;
    if (is_known && std::memcmp(uuid.bytes, device.bytes, sizeof uuid.bytes) == 0) return i;
  }
  return -1;
}

// A device that is not visible is left to the driver, which may know better.
sluice_result_t check_reach(int32_t device, int32_t owner) {
  if (owner < 0 || owner == device || g_driver.cuDeviceCanAccessPeer == nullptr) return SLUICE_SUCCESS;
  int can_access = 0;
  const CUresult native = g_driver.cuDeviceCanAccessPeer(&can_access, device, owner);
  if (native != CUDA_SUCCESS) return translate("cuDeviceCanAccessPeer", native);
  if (can_access != 0) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED, "device " + std::to_string(device) + " does not reach the memory of device " +
                                            std::to_string(owner) + " (cuDeviceCanAccessPeer)");
}

sluice_result_t translate_open(CUresult native, int32_t owner) {
  if (native == CUDA_SUCCESS) return SLUICE_SUCCESS;
  const std::string text = native_text(g_driver, "cuIpcOpenMemHandle", native);
  if (owner < 0) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                text + "; the exporter's device is not visible in this process (CUDA_VISIBLE_DEVICES)");
  }
  switch (native) {
    case CUDA_ERROR_ALREADY_MAPPED:
      return fail(SLUICE_ERROR_UNSUPPORTED, text + "; the program has opened this memory itself");
    case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
    case CUDA_ERROR_TOO_MANY_PEERS:
    case CUDA_ERROR_NOT_SUPPORTED:
      return fail(SLUICE_ERROR_UNSUPPORTED, text);
    default:
      return fail(SLUICE_ERROR_NATIVE, text + "; the exporter may have freed the memory or ended");
  }
}

// The lock is held over the driver's call, so that an address that is closed and given again at once is not mistaken.
sluice_result_t open_in(CUcontext context, bool is_retained, int32_t device, const Layout &layout, void **base) {
  const ContextScope scope(context);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  const int32_t owner = index_of(layout.device);
  sluice_result_t result = check_reach(device, owner);
  if (result != SLUICE_SUCCESS) return result;
  const std::scoped_lock lock(g_mutex);
  CUdeviceptr address = 0;
  result =
      translate_open(g_driver.cuIpcOpenMemHandle(&address, layout.native, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), owner);
  if (result != SLUICE_SUCCESS) return result;
  *base = reinterpret_cast<void *>(address);
  Mapping &mapping = mappings()[{device, *base}];
  mapping.context = context;
  ++mapping.n_opened;
  mapping.n_retained += is_retained ? 1 : 0;
  return SLUICE_SUCCESS;
}

// A context that the program has destroyed, and a driver that is shut down, have let go of the mapping themselves.
bool is_gone(CUresult native) {
  return native == CUDA_ERROR_DEINITIALIZED || native == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
         native == CUDA_ERROR_INVALID_CONTEXT;
}

sluice_result_t close_in(CUcontext context, void *base) {
  CUcontext current = nullptr;
  const CUresult asked = g_driver.cuCtxGetCurrent(&current);
  if (is_gone(asked)) return SLUICE_SUCCESS;
  const ContextScope scope(context);
  if (scope.result() != SLUICE_SUCCESS) return SLUICE_SUCCESS;  // the context is no more
  const CUresult native = g_driver.cuIpcCloseMemHandle(reinterpret_cast<CUdeviceptr>(base));
  return is_gone(native) ? SLUICE_SUCCESS : translate("cuIpcCloseMemHandle", native);
}

}  // namespace

sluice_result_t ipc_export(const void *address, sluice_ipc_handle_t *handle, uint64_t *base_offset,
                           uint64_t *size_bytes) {
  if (handle == nullptr || base_offset == nullptr || size_bytes == nullptr) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "ipc_export: null pointer");
  }
  sluice_result_t result = check_driver_calls();
  if (result != SLUICE_SUCCESS) return result;
  const auto first = reinterpret_cast<CUdeviceptr>(address);
  Allocation allocation;
  result = describe_allocation(first, &allocation);
  CUcontext context = nullptr;
  bool is_retained = false;
  if (result == SLUICE_SUCCESS) result = find_context(allocation.device, &context, &is_retained);
  if (result != SLUICE_SUCCESS) return result;
  {
    const ContextScope scope(context);
    result = scope.result();
    if (result == SLUICE_SUCCESS) result = fill_handle(allocation, handle);
  }
  release_context(allocation.device, is_retained);
  if (result != SLUICE_SUCCESS) return result;
  *base_offset = first - allocation.begin;
  *size_bytes = allocation.size_bytes;
  return SLUICE_SUCCESS;
}

sluice_result_t ipc_open(int32_t device, const sluice_ipc_handle_t *handle, void **base) {
  if (handle == nullptr || base == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "ipc_open: null pointer");
  sluice_result_t result = check_driver_calls();
  Layout layout = {};
  if (result == SLUICE_SUCCESS) result = read_layout(*handle, &layout);
  CUcontext context = nullptr;
  bool is_retained = false;
  if (result == SLUICE_SUCCESS) result = find_context(device, &context, &is_retained);
  if (result != SLUICE_SUCCESS) return result;
  result = open_in(context, is_retained, device, layout, base);
  if (result != SLUICE_SUCCESS) release_context(device, is_retained);
  return result;
}

sluice_result_t ipc_close(int32_t device, void *base) {
  const std::scoped_lock lock(g_mutex);
  const auto found = mappings().find({device, base});
  if (found == mappings().end()) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT,
                "this address was not opened by ipc_open for device " + std::to_string(device) + ", or is closed");
  }
  const sluice_result_t result = close_in(found->second.context, base);
  if (result != SLUICE_SUCCESS) return result;
  if (found->second.n_retained > 0) {
    release_context(device, true);
    --found->second.n_retained;
  }
  if (--found->second.n_opened == 0) mappings().erase(found);
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::cuda
