// SPDX-License-Identifier: BSD-3-Clause
// The loop-back driver's entry points, named and typed by the vendor's header.
#include <atomic>
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

bool is_broken() {
  const std::scoped_lock lock(state().mutex);
  return state().is_broken;
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
  *value = attribute == CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS ? 1 : 0;
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

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(*mode, t_mode);
  return CUDA_SUCCESS;
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
  const std::scoped_lock lock(state().mutex);
  if (!state().is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
  CUdeviceptr begin = 0;
  const loopback::Block *block = loopback::find_block(address, &begin);
  for (unsigned i = 0; i < count; ++i) {
    const CUresult result = loopback::store_attribute(data[i], attributes[i], begin, block);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t size) {
  return loopback::make_block(size, CU_MEMORYTYPE_DEVICE, false, address);
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned /*flags*/) {
  return loopback::make_block(size, CU_MEMORYTYPE_DEVICE, true, address);
}

CUresult cuMemFree(CUdeviceptr address) {
  return loopback::drop_block(address, CU_MEMORYTYPE_DEVICE, false);
}

CUresult cuMemHostAlloc(void **memory, size_t size, unsigned /*flags*/) {
  CUdeviceptr address = 0;
  const CUresult result = loopback::make_block(size, CU_MEMORYTYPE_HOST, false, &address);
  *memory = pointer(address);
  return result;
}

CUresult cuMemFreeHost(void *memory) {
  return loopback::drop_block(reinterpret_cast<CUdeviceptr>(memory), CU_MEMORYTYPE_HOST, false);
}

CUresult cuMemHostRegister(void *memory, size_t size, unsigned /*flags*/) {
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
  const CUresult result = check_copy(dst, src, size);
  if (result == CUDA_SUCCESS) std::memmove(pointer(dst), pointer(src), size);
  return result;
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream) {
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

// ---- streams and events ----

CUresult cuStreamCreate(CUstream *stream, unsigned /*flags*/) {
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *stream = new CUstream_st(current());
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) {
  delete stream;
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  // As below: nothing is ever under way there.
  if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
    const std::scoped_lock lock(state().mutex);
    ++state().n_default_waits;
    return CUDA_SUCCESS;
  }
  stream->wait(stream->n_enqueued());
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream) {
  // The default streams are never busy: the blocking copies of this driver are.
  if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return CUDA_SUCCESS;
  if (is_broken()) return CUDA_ERROR_ILLEGAL_ADDRESS;
  return stream->n_done() == stream->n_enqueued() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned /*flags*/) {
  if (stream->context() != current()) return CUDA_ERROR_INVALID_CONTEXT;
  ++state().n_word_writes;
  stream->enqueue([=] {
    if (is_broken()) return;
    std::atomic_ref<cuuint64_t>(*static_cast<cuuint64_t *>(pointer(address))).store(value, std::memory_order_release);
  });
  return CUDA_SUCCESS;
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *writes, unsigned /*flags*/) {
  if (state().refuses_batches) return CUDA_ERROR_INVALID_VALUE;
  if (stream->context() != current()) return CUDA_ERROR_INVALID_CONTEXT;
  ++state().n_batches;
  for (unsigned i = 0; i < count; ++i) {
    const auto &one = writes[i].writeValue;
    const bool is_wide = one.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    if (one.address % (is_wide ? 8 : 4) != 0) return CUDA_ERROR_INVALID_VALUE;
    const cuuint64_t value = is_wide ? one.value64 : one.value;
    stream->enqueue([=, address = one.address] {
      if (is_broken()) return;
      const auto narrow = static_cast<cuuint32_t>(value);
      if (is_wide) __atomic_store_n(static_cast<cuuint64_t *>(pointer(address)), value, __ATOMIC_RELEASE);
      if (!is_wide) __atomic_store_n(static_cast<cuuint32_t *>(pointer(address)), narrow, __ATOMIC_RELEASE);
    });
  }
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned /*flags*/) {
  *event = new CUevent_st();
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  event->stream = stream;
  event->number = stream->n_enqueued();
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event) {
  const bool is_done = event->stream == nullptr || event->stream->n_done() >= event->number;
  return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event) {
  if (event->stream != nullptr) event->stream->wait(event->number);
  return CUDA_SUCCESS;
}

void loopback_hold(bool is_held) {
  {
    const std::scoped_lock lock(state().mutex);
    state().is_held = is_held;
  }
  state().changed.notify_all();
}

void loopback_break() {
  const std::scoped_lock lock(state().mutex);
  state().is_broken = true;
}
