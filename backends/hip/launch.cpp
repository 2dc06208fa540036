// SPDX-License-Identifier: BSD-3-Clause
// Owns the kernels that were compiled and loaded, by device; how many blocks they get, and their launch.
#include "launch.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace sluice::backends::hip {

namespace {

// As on the other vendor's devices, where more gained nothing; not measured on this one's.
constexpr unsigned kBlocksPerProcessor = 2;
// What a work-item moves at once.
constexpr uint64_t kItemBytes = 16;

struct Entry {
  Kernel kernel;
  std::string why;  // of one that cannot be had
};
using Key = std::pair<int32_t, std::string>;  // the device, and the function that the kernel calls

std::mutex g_mutex;
// Left to the end of the process: the runtime may be gone by then.
std::map<Key, Entry> &kernels_by_key() {
  static auto *const all = new std::map<Key, Entry>();
  return *all;
}

// In the device's scope.
std::string load(int32_t device, const std::vector<char> &code, Kernel *kernel) {
  hipModule_t module = nullptr;  // kept: the kernel lives as long as it
  hipError_t native = g_runtime.hipModuleLoadData(&module, code.data());
  if (native != hipSuccess) return native_text(g_runtime, "hipModuleLoadData", native);
  native = g_runtime.hipModuleGetFunction(&kernel->function, module, kKernelEntry);
  if (native != hipSuccess) return native_text(g_runtime, "hipModuleGetFunction", native);
  int per_processor = 0;
  native = g_runtime.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&per_processor, kernel->function,
                                                                        static_cast<int>(kBlockThreads), 0);
  if (native != hipSuccess) {
    return native_text(g_runtime, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", native);
  }
  int n_processors = 0;
  native = g_runtime.hipDeviceGetAttribute(&n_processors, hipDeviceAttributeMultiprocessorCount, device);
  if (native != hipSuccess) return native_text(g_runtime, "hipDeviceGetAttribute", native);
  const unsigned resident = std::min(static_cast<unsigned>(std::max(per_processor, 1)), kBlocksPerProcessor);
  kernel->n_processors = static_cast<unsigned>(std::max(n_processors, 1));
  kernel->most_blocks = resident * kernel->n_processors;
  return {};
}

// One vector for each work-item, until the device is full; each part gets as many blocks as the others.
unsigned blocks_for(const Kernel &kernel, const Work &work) {
  const uint64_t n_wanted = work.size_bytes / (kItemBytes * kBlockThreads) + 1;
  const uint64_t n_most_each = std::max<uint64_t>(kernel.most_blocks / work.n_parts, 1);
  return static_cast<unsigned>(work.n_parts * std::min(n_wanted, n_most_each));
}

}  // namespace

bool can_run_kernels(int32_t device) {
  return g_runtime.hipModuleLoadData != nullptr && g_runtime.hipModuleGetFunction != nullptr &&
         g_runtime.hipModuleLaunchKernel != nullptr &&
         g_runtime.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor != nullptr && device >= 0 &&
         device < device_count() && has_compiler();
}

// The lock is held while a kernel is compiled: a second thread that wants it would have to wait for it anyway.
sluice_result_t find_kernel(int32_t device, const KernelBody &body, Kernel *kernel) {
  const std::scoped_lock lock(g_mutex);
  const auto [found, is_new] = kernels_by_key().try_emplace({device, body.share});
  Entry &entry = found->second;
  if (is_new) {
    std::vector<char> code;
    entry.why = compile_kernel(body, "", &code);
    if (entry.why.empty()) entry.why = load(device, code, &entry.kernel);
  }
  if (!entry.why.empty()) return fail(SLUICE_ERROR_UNSUPPORTED, "the kernel of " + body.share + ": " + entry.why);
  *kernel = entry.kernel;
  return SLUICE_SUCCESS;
}

sluice_result_t launch_in(hipStream_t stream, const Kernel &kernel, unsigned n_blocks, unsigned n_threads, void *task) {
  void *arguments[] = {task};
  return translate("hipModuleLaunchKernel", g_runtime.hipModuleLaunchKernel(kernel.function, n_blocks, 1, 1, n_threads,
                                                                            1, 1, 0, stream, arguments, nullptr));
}

sluice_result_t launch_in(hipStream_t stream, const Kernel &kernel, const Work &work, void *task) {
  return launch_in(stream, kernel, blocks_for(kernel, work), kBlockThreads, task);
}

sluice_result_t launch(sluice_queue_t *queue, const KernelBody &body, const Work &work, void *task) {
  Kernel kernel;
  const sluice_result_t result = find_kernel(queue->device, body, &kernel);
  if (result != SLUICE_SUCCESS) return result;
  return launch_in(queue->stream, kernel, work, task);
}

}  // namespace sluice::backends::hip
