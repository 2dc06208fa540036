// SPDX-License-Identifier: BSD-3-Clause
// What this module allocated, and how.
#include "allocations.h"

#include <mutex>

#include "../ledger.h"

namespace sluice::backends::opencl {
namespace {

struct Allocation {
  sluice_memory_kind_t kind = SLUICE_MEMORY_HOST;
  Device *device = nullptr;
  size_t size_bytes = 0;
  cl_mem buffer = nullptr;  // of a mapped one
  void *base = nullptr;     // as the runtime mapped it
  uint64_t id = 0;
};

Ledger<Allocation> &ledger() {
  return ledger_of<Allocation>();
}

void keep(const void *memory, Allocation allocation) {
  const std::scoped_lock lock(ledger().mutex);
  allocation.id = ++ledger().last_id;
  ledger().by_address[memory] = allocation;
}

sluice_result_t release_mapped(const Allocation &known) {
  cl_command_queue queue = known.device->queue;
  sluice_result_t result =
      translate("clEnqueueUnmapMemObject",
                g_functions.clEnqueueUnmapMemObject(queue, known.buffer, known.base, 0, nullptr, nullptr));
  if (result == SLUICE_SUCCESS) result = translate("clFinish", g_functions.clFinish(queue));
  const sluice_result_t freed = translate("clReleaseMemObject", g_functions.clReleaseMemObject(known.buffer));
  return result != SLUICE_SUCCESS ? result : freed;
}

}  // namespace

sluice_result_t allocate_mapped(Device *device, size_t size_bytes, size_t alignment, void **memory) {
  const size_t size = (size_bytes == 0 ? 1 : size_bytes) + alignment;
  cl_int native = CL_SUCCESS;
  cl_mem buffer =
      g_functions.clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, nullptr, &native);
  if (native != CL_SUCCESS) return translate("clCreateBuffer", native);
  void *base = g_functions.clEnqueueMapBuffer(device->queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0,
                                              nullptr, nullptr, &native);
  if (native != CL_SUCCESS) {
    const sluice_result_t result = translate("clEnqueueMapBuffer", native);
    const cl_int released = g_functions.clReleaseMemObject(buffer);
    return released == CL_SUCCESS ? result : translate("clReleaseMemObject", released);
  }
  auto address = reinterpret_cast<uintptr_t>(base);
  if (alignment != 0) address = (address + alignment - 1) / alignment * alignment;
  *memory = reinterpret_cast<void *>(address);
  keep(*memory, {SLUICE_MEMORY_PINNED, device, size_bytes, buffer, base, 0});
  return SLUICE_SUCCESS;
}

sluice_result_t allocate_usm(Device *device, sluice_memory_kind_t kind, size_t size_bytes, void **memory) {
  const bool is_there = device->alloc_device != nullptr && device->alloc_shared != nullptr &&
                        device->free_usm != nullptr && device->enqueue_memcpy != nullptr;
  if (!is_there) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "this runtime has no USM (cl_intel_unified_shared_memory): take P, a mapped buffer");
  }
  const size_t size = size_bytes == 0 ? 1 : size_bytes;
  cl_int native = CL_SUCCESS;
  *memory = kind == SLUICE_MEMORY_DEVICE ? device->alloc_device(device->context, device->id, nullptr, size, 0, &native)
                                         : device->alloc_shared(device->context, device->id, nullptr, size, 0, &native);
  if (native != CL_SUCCESS) return translate("clDeviceMemAllocINTEL or clSharedMemAllocINTEL", native);
  keep(*memory, {kind, device, size_bytes, nullptr, *memory, 0});
  return SLUICE_SUCCESS;
}

sluice_result_t program_free(void *memory) {
  if (memory == nullptr) return SLUICE_SUCCESS;
  Allocation known;
  {
    const std::scoped_lock lock(ledger().mutex);
    const auto found = ledger().by_address.find(memory);
    if (found == ledger().by_address.end()) {
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, "this address is no allocation of the OpenCL module");
    }
    known = found->second;
    ledger().by_address.erase(found);
  }
  if (known.kind == SLUICE_MEMORY_PINNED) return release_mapped(known);
  return translate("clMemBlockingFreeINTEL", known.device->free_usm(known.device->context, memory));
}

sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info) {
  *info = {SLUICE_MEMORY_HOST, -1, 0};
  const std::scoped_lock lock(ledger().mutex);
  const Allocation *known = ledger().find(address);
  if (known != nullptr) *info = {known->kind, static_cast<int32_t>(known->device - devices().data()), known->id};
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::opencl
