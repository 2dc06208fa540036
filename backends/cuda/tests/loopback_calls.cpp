// SPDX-License-Identifier: BSD-3-Clause
// The loop-back driver's entry points, named and typed by the vendor's header.
#include <cstdio>
#include <cstring>
#include <iterator>
#include <vector>

#include "loopback.h"

using loopback::current;
using loopback::kDevices;
using loopback::state;

namespace {

bool is_device(CUdevice device) {
  return device >= 0 && device < kDevices;
}

void *pointer(CUdeviceptr address) {
  return reinterpret_cast<void *>(address);
}

const char *error_text(CUresult error) {
  switch (error) {
    case CUDA_SUCCESS:
      return "no error";
    case CUDA_ERROR_INVALID_VALUE:
      return "invalid argument";
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "out of memory";
    case CUDA_ERROR_NOT_INITIALIZED:
      return "initialization error";
    case CUDA_ERROR_INVALID_DEVICE:
      return "invalid device ordinal";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return "an illegal memory access was encountered";
    case CUDA_ERROR_INVALID_CONTEXT:
      return "invalid device context";
    default:
      return "another error of the loop-back driver";
  }
}

// A copy to or from memory that the driver knows stays within it, or within blocks that are mapped one behind the
// other; other memory is the program's own affair.
bool is_copy_inside(CUdeviceptr address, size_t size_bytes) {
  const std::scoped_lock lock(state().mutex);
  CUdeviceptr begin = 0;
  const loopback::Block *block = loopback::find_block(address, &begin);
  if (block == nullptr || size_bytes == 0) return true;
  while (address + size_bytes > begin + block->size_bytes) {
    const loopback::Block *next = loopback::find_block(begin + block->size_bytes, &begin);
    if (next == nullptr || next->physical == nullptr || block->physical == nullptr) return false;
    block = next;
  }
  return true;
}

CUresult check_copy(CUdeviceptr dst, CUdeviceptr src, size_t size_bytes) {
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return is_copy_inside(dst, size_bytes) && is_copy_inside(src, size_bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

// ---- life and devices ----

CUresult cuInit(unsigned flags) {
  const std::scoped_lock lock(state().mutex);
  state().is_initialised = flags == 0;
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDriverGetVersion(int *version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  *text = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR_OF_LOOPBACK";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error_text(error);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  const std::scoped_lock lock(state().mutex);
  *count = state().is_initialised ? kDevices : 0;
  return state().is_initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return is_device(ordinal) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  std::snprintf(name, static_cast<size_t>(length), "loop-back device %d (host memory)", device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  const bool has_eight = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ||
                         attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
  *value = attribute == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS ? 1 : has_eight ? 8 : 0;
  constexpr int kIsByService = 133;  // CU_DEVICE_ATTRIBUTE_MPS_ENABLED
  if (attribute == static_cast<CUdevice_attribute>(kIsByService)) *value = state().has_service ? 1 : 0;
  return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  *bytes = size_t{1} << 30U;
  return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
  std::snprintf(id, static_cast<size_t>(length), "0000:F%d:00.0", device);
  return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

// ---- contexts ----

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const std::scoped_lock lock(state().mutex);
  *flags = 0;
  *active = state().n_retained[device] > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const std::scoped_lock lock(state().mutex);
  ++state().n_retained[device];
  *context = &state().primary[device];
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const std::scoped_lock lock(state().mutex);
  if (state().n_retained[device] == 0) return CUDA_ERROR_INVALID_CONTEXT;
  --state().n_retained[device];
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  loopback::context_stack().push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context) {
  if (loopback::context_stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = current();
  loopback::context_stack().pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = current();
  const std::scoped_lock lock(state().mutex);
  return state().is_initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (!loopback::context_stack().empty()) loopback::context_stack().pop_back();
  if (context != nullptr) loopback::context_stack().push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = current()->device;
  return CUDA_SUCCESS;
}

// Streams of the module are waited for by the module; the program group has none of its own.
CUresult cuCtxSynchronize() {
  return current() != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

namespace {
thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
}  // namespace

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  std::swap(*mode, t_mode);
  return CUDA_SUCCESS;
}

bool loopback::is_forbidden() {
  return state().n_captures != 0 && t_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
}

// ---- memory ----

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  const std::scoped_lock lock(state().mutex);
  const loopback::Block *block = loopback::find_block(address);
  if (block == nullptr || block->physical != nullptr || block->is_pooled) return CUDA_ERROR_INVALID_VALUE;
  return value != nullptr && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
  const std::scoped_lock lock(state().mutex);
  CUdeviceptr begin = 0;
  const loopback::Block *block = loopback::find_block(address, &begin);
  return block != nullptr ? loopback::store_attribute(data, attribute, begin, block) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address) {
  ++state().n_queries;
  const std::scoped_lock lock(state().mutex);
  if (!state().is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
  CUdeviceptr begin = 0;
  const loopback::Block *block = loopback::find_block(address, &begin);
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_POINTER) {
      *static_cast<CUdeviceptr *>(data[i]) = block != nullptr ? address : 0;
      continue;
    }
    const CUresult result = loopback::store_attribute(data[i], attributes[i], begin, block);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t size) {
  if (loopback::is_forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return loopback::make_block(size, CU_MEMORYTYPE_DEVICE, false, address);
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned /*flags*/) {
  if (loopback::is_forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return loopback::make_block(size, CU_MEMORYTYPE_DEVICE, true, address);
}

CUresult cuMemFree(CUdeviceptr address) {
  if (loopback::is_forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return loopback::drop_block(address, CU_MEMORYTYPE_DEVICE, false);
}

CUresult cuMemHostAlloc(void **memory, size_t size, unsigned /*flags*/) {
  if (loopback::is_forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  CUdeviceptr address = 0;
  const CUresult result = loopback::make_block(size, CU_MEMORYTYPE_HOST, false, &address);
  *memory = pointer(address);
  return result;
}

CUresult cuMemFreeHost(void *memory) {
  if (loopback::is_forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return loopback::drop_block(reinterpret_cast<CUdeviceptr>(memory), CU_MEMORYTYPE_HOST, false);
}

CUresult cuMemHostRegister(void *memory, size_t size, unsigned /*flags*/) {
  if (loopback::is_forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return loopback::add_registered(memory, size);
}

CUresult cuMemHostUnregister(void *memory) {
  return loopback::drop_block(reinterpret_cast<CUdeviceptr>(memory), CU_MEMORYTYPE_HOST, true);
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *address, void *memory, unsigned /*flags*/) {
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

// ---- copies ----

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size) {
  if (loopback::is_forbidden()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const CUresult result = check_copy(dst, src, size);
  if (result == CUDA_SUCCESS) std::memmove(pointer(dst), pointer(src), size);
  return result;
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream) {
  if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return cuMemcpy(dst, src, size);
  if (stream->context() != current()) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult result = check_copy(dst, src, size);
  if (result != CUDA_SUCCESS) return result;
  stream->enqueue([=] { loopback::move(dst, src, size); });
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t size, CUstream stream) {
  return cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(dst), src, size, stream);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t size, CUstream stream) {
  return cuMemcpyAsync(dst, reinterpret_cast<CUdeviceptr>(src), size, stream);
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                            CUmemcpyAttributes * /*attributes*/, size_t * /*indices*/, size_t n_attributes,
                            CUstream stream) {
  if (count == 0 || n_attributes != 1) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = sizes[i] != 0 ? check_copy(dsts[i], srcs[i], sizes[i]) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS) return result;
  }
  // Last first: a batch has no order.
  for (size_t i = count; i-- > 0;) {
    const CUresult result = cuMemcpyAsync(dsts[i], srcs[i], sizes[i], stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

void loopback_hold(bool is_held) {
  {
    const std::scoped_lock lock(state().mutex);
    state().is_held = is_held;
  }
  state().changed.notify_all();
}

int loopback_held_up() {
  return state().n_held_up;
}

void loopback_break() {
  const std::scoped_lock lock(state().mutex);
  state().is_broken = true;
}
