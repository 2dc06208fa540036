// SPDX-License-Identifier: BSD-3-Clause
// Owns the kernels that were loaded, by context.
#include "kernels.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "waits.h"

namespace sluice::backends::cuda {

namespace {

// What the build asked the compiler for (compile_kernels.cpp).
constexpr int kLeastMajor = 7;
constexpr int kLeastMinor = 5;

struct Entry {
  Kernel kernel;
  std::string why;  // of one that cannot be loaded
};
using Key = std::pair<unsigned long long, const KernelText *>;

std::mutex g_mutex;
// Left to the end of the process: the driver may be gone by then. A context takes its kernels with it.
std::map<Key, Entry> &entries() {
  static auto *const all = new std::map<Key, Entry>();
  return *all;
}

// A number that no other context has, nor one that is made after this one was destroyed.
sluice_result_t number_of_context(unsigned long long *number) {
  CUcontext context = nullptr;
  sluice_result_t result = translate("cuCtxGetCurrent", g_driver.cuCtxGetCurrent(&context));
  if (result == SLUICE_SUCCESS) result = translate("cuCtxGetId", g_driver.cuCtxGetId(context, number));
  return result;
}

CUresult load(const KernelText &text, int32_t device, Kernel *kernel, const char **call) {
  CUmodule module = nullptr;
  *call = "cuModuleLoadData";
  CUresult native = g_driver.cuModuleLoadData(&module, text.text);
  if (native != CUDA_SUCCESS) return native;
  *call = "cuModuleGetFunction";
  native = g_driver.cuModuleGetFunction(&kernel->function, module, text.name);
  if (native != CUDA_SUCCESS) return native;
  int per_processor = 0;
  *call = "cuOccupancyMaxActiveBlocksPerMultiprocessor";
  native = g_driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel->function, kBlockThreads, 0);
  if (native != CUDA_SUCCESS) return native;
  int n_processors = 0;
  CUdevice ordinal = 0;
  *call = "cuDeviceGetAttribute";
  native = g_driver.cuDeviceGet(&ordinal, device);
  if (native == CUDA_SUCCESS) {
    native = g_driver.cuDeviceGetAttribute(&n_processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ordinal);
  }
  if (native != CUDA_SUCCESS) return native;
  kernel->n_processors = static_cast<unsigned>(std::max(n_processors, 1));
  kernel->most_blocks = static_cast<unsigned>(std::max(per_processor, 1)) * kernel->n_processors;
  return CUDA_SUCCESS;
}

}  // namespace

namespace {

bool ask_whether_kernels_run(int32_t device) {
  const bool has_calls = g_driver.cuModuleLoadData != nullptr && g_driver.cuModuleGetFunction != nullptr &&
                         g_driver.cuLaunchKernel != nullptr && g_driver.cuCtxGetId != nullptr &&
                         g_driver.cuOccupancyMaxActiveBlocksPerMultiprocessor != nullptr;
  CUdevice ordinal = 0;
  if (!has_calls || device < 0 || device >= device_count() || g_driver.cuDeviceGet(&ordinal, device) != CUDA_SUCCESS) {
    return false;
  }
  int major = 0;
  int minor = 0;
  return g_driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ordinal) == CUDA_SUCCESS &&
         g_driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ordinal) == CUDA_SUCCESS &&
         (major > kLeastMajor || (major == kLeastMajor && minor >= kLeastMinor));
}

}  // namespace

bool can_run_kernels(int32_t device) {
  constexpr int32_t kMostKnown = 64;
  static std::array<std::atomic<bool>, kMostKnown> known{};  // those that can
  if (device < 0 || device >= kMostKnown) return ask_whether_kernels_run(device);
  std::atomic<bool> &can = known[static_cast<size_t>(device)];
  if (!can.load(std::memory_order_relaxed) && ask_whether_kernels_run(device)) {
    can.store(true, std::memory_order_relaxed);
  }
  return can.load(std::memory_order_relaxed);
}

sluice_result_t find_kernel(const KernelText &text, int32_t device, Kernel *kernel) {
  unsigned long long context = 0;
  const sluice_result_t result = number_of_context(&context);
  if (result != SLUICE_SUCCESS) return result;
  const std::scoped_lock lock(g_mutex);
  const bool is_new = !entries().contains({context, &text});
  const Quiet quiet;
  if (is_new && !quiet.is_kept()) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                std::string("the kernel ") + text.name +
                    " is not loaded while a stream of the program's waits for a message, because the driver may wait "
                    "for that stream");
  }
  Entry &entry = entries()[{context, &text}];
  if (is_new) {
    const char *call = "";
    const CUresult native = load(text, device, &entry.kernel, &call);
    if (native != CUDA_SUCCESS) entry.why = native_text(g_driver, call, native);
  }
  if (entry.why.empty()) {
    *kernel = entry.kernel;
    return SLUICE_SUCCESS;
  }
  return fail(SLUICE_ERROR_UNSUPPORTED, std::string("the kernel ") + text.name + " could not be loaded: " + entry.why);
}

}  // namespace sluice::backends::cuda
