// SPDX-License-Identifier: BSD-3-Clause
// Owns the choice of a context for a device, and the thread's current context while the module works in another.
#include <atomic>
#include <string>

#include "module.h"

namespace sluice::backends::cuda {

namespace {

// More devices than one machine has; memory of a device beyond is handled without the memory of its context.
constexpr int32_t kMaxDevices = 64;
std::atomic<CUcontext> g_seen_context[kMaxDevices];

bool is_in_range(int32_t device) {
  return device >= 0 && device < kMaxDevices;
}

// The current context if it is the device's.
CUcontext current_context_of(CUdevice ordinal) {
  CUcontext current = nullptr;
  CUdevice owner = -1;
  const bool is_its_own = g_driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != nullptr &&
                          g_driver.cuCtxGetDevice(&owner) == CUDA_SUCCESS && owner == ordinal;
  return is_its_own ? current : nullptr;
}

}  // namespace

sluice_result_t check_device(int32_t device) {
  const int32_t count = device_count();
  if (device >= 0 && device < count) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_NO_DEVICE,
              "there is no device " + std::to_string(device) + "; the driver shows " + std::to_string(count));
}

sluice_result_t find_context(int32_t device, CUcontext *context, bool *is_retained) {
  *context = nullptr;
  *is_retained = false;
  const sluice_result_t known = check_device(device);
  if (known != SLUICE_SUCCESS) return known;
  CUdevice ordinal = 0;
  sluice_result_t result = translate("cuDeviceGet", g_driver.cuDeviceGet(&ordinal, device));
  if (result != SLUICE_SUCCESS) return result;
  unsigned flags = 0;
  int is_active = 0;
  result = translate("cuDevicePrimaryCtxGetState", g_driver.cuDevicePrimaryCtxGetState(ordinal, &flags, &is_active));
  if (result != SLUICE_SUCCESS) return result;
  if (is_active != 0) {
    result = translate("cuDevicePrimaryCtxRetain", g_driver.cuDevicePrimaryCtxRetain(context, ordinal));
    *is_retained = result == SLUICE_SUCCESS;
    return result;
  }
  *context = current_context_of(ordinal);
  if (*context == nullptr && is_in_range(device)) *context = g_seen_context[device].load(std::memory_order_acquire);
  if (*context != nullptr) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_NO_DEVICE, "the program has no context on device " + std::to_string(device) +
                                          "; select the device (cudaSetDevice) or allocate memory on it first");
}

void release_context(int32_t device, bool is_retained) {
  CUdevice ordinal = 0;
  // A driver that is shut down has released it already.
  if (!is_retained || g_driver.cuDeviceGet(&ordinal, device) != CUDA_SUCCESS) return;
  const CUresult native = g_driver.cuDevicePrimaryCtxRelease(ordinal);
  if (native != CUDA_SUCCESS && native != CUDA_ERROR_DEINITIALIZED) {
    log_line(3, native_text(g_driver, "cuDevicePrimaryCtxRelease", native).c_str());
  }
}

void remember_context(int32_t device, CUcontext context) {
  if (is_in_range(device)) g_seen_context[device].store(context, std::memory_order_release);
}

bool is_context_known(int32_t device) {
  return !is_in_range(device) || g_seen_context[device].load(std::memory_order_relaxed) != nullptr;
}

ContextScope::ContextScope(CUcontext context) {
  CUcontext current = nullptr;
  result_ = translate("cuCtxGetCurrent", g_driver.cuCtxGetCurrent(&current));
  if (result_ != SLUICE_SUCCESS) return;
  if (current != context) {
    result_ = translate("cuCtxPushCurrent", g_driver.cuCtxPushCurrent(context));
    is_pushed_ = result_ == SLUICE_SUCCESS;
    if (!is_pushed_) return;
  }
  // Cannot fail on an initialised driver; if it did, the calls below would say so themselves.
  if (g_driver.cuThreadExchangeStreamCaptureMode(&capture_mode_) != CUDA_SUCCESS) {
    capture_mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  }
}

ContextScope::~ContextScope() {
  if (result_ != SLUICE_SUCCESS) return;
  CUcontext popped = nullptr;
  const CUresult exchanged = g_driver.cuThreadExchangeStreamCaptureMode(&capture_mode_);
  const CUresult restored = is_pushed_ ? g_driver.cuCtxPopCurrent(&popped) : CUDA_SUCCESS;
  if (exchanged != CUDA_SUCCESS || restored != CUDA_SUCCESS) {
    log_line(3, "the thread's context could not be restored: the driver is shutting down");
  }
}

}  // namespace sluice::backends::cuda
