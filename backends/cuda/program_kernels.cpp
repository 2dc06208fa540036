// SPDX-License-Identifier: BSD-3-Clause
// Kernels of a program's own: texts that this folder's compile_program_kernels.py made of them when the program was
// built, loaded by the driver.
#include "sluice/program_kernels.h"

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "module.h"

namespace sluice::backends::cuda {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr uint64_t kMostBlocks = 1u << 20;

std::mutex g_mutex;

// Loaded in the current context; it waits for what runs there. Left to the end of the process: the driver may be gone
// by then.
sluice_result_t load(const sluice_program_kernel_t &kernel, CUfunction *function) {
  static auto *const all = new std::map<std::pair<CUcontext, std::string>, CUfunction>();
  if (g_driver.cuModuleLoadData == nullptr || g_driver.cuModuleGetFunction == nullptr ||
      g_driver.cuLaunchKernel == nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "this driver has no calls for kernels");
  }
  if (kernel.compiled == nullptr || std::strcmp(kernel.compiled_for, "cuda") != 0) {
    return fail(SLUICE_ERROR_UNSUPPORTED, std::string("the program was built without a text of the kernel ") +
                                              kernel.name + " for this backend: tools/setup installs the compiler");
  }
  CUcontext context = nullptr;
  sluice_result_t result = translate("cuCtxGetCurrent", g_driver.cuCtxGetCurrent(&context));
  if (result != SLUICE_SUCCESS) return result;
  const std::scoped_lock lock(g_mutex);
  const auto found = all->find({context, kernel.name});
  if (found != all->end()) {
    *function = found->second;
    return SLUICE_SUCCESS;
  }
  CUmodule module = nullptr;
  result = translate("cuModuleLoadData", g_driver.cuModuleLoadData(&module, kernel.compiled));
  if (result != SLUICE_SUCCESS) return result;
  result = translate("cuModuleGetFunction", g_driver.cuModuleGetFunction(function, module, kernel.name));
  if (result == SLUICE_SUCCESS) all->emplace(std::pair(context, std::string(kernel.name)), *function);
  return result;
}

// Items beyond the grid are taken in turns.
sluice_result_t launch(void *native, const sluice_program_kernel_t *kernel, uint64_t n_items, const uint64_t *task,
                       const uint64_t * /*size_bytes*/) {
  CUfunction function = nullptr;
  const sluice_result_t result = load(*kernel, &function);
  if (result != SLUICE_SUCCESS) return result;
  if (kernel->n_words > SLUICE_PROGRAM_KERNEL_MOST_WORDS) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT, "launch: the kernel's task has too many words");
  }
  uint64_t words[SLUICE_PROGRAM_KERNEL_MOST_WORDS] = {};
  std::memcpy(words, task, kernel->n_words * sizeof(*task));
  const uint64_t n_wanted = n_items / kBlockThreads + 1;
  const auto n_blocks = static_cast<unsigned>(n_wanted < kMostBlocks ? n_wanted : kMostBlocks);
  void *arguments[] = {words, &n_items};
  return translate("cuLaunchKernel", g_driver.cuLaunchKernel(function, n_blocks, 1, 1, kBlockThreads, 1, 1, 0,
                                                             static_cast<CUstream>(native), arguments, nullptr));
}

constexpr sluice_program_kernels_t kKernels = {
    .api_version = SLUICE_PROGRAM_KERNELS_API_VERSION,
    .struct_size = sizeof(sluice_program_kernels_t),
    .stream_create = program_stream_create,
    .stream_destroy = program_stream_destroy,
    .stream_synchronize = program_stream_synchronize,
    .launch = launch,
};

}  // namespace
}  // namespace sluice::backends::cuda

extern "C" __attribute__((visibility("default"))) const sluice_program_kernels_t *sluice_backend_program_kernels() {
  return &sluice::backends::cuda::kKernels;
}
