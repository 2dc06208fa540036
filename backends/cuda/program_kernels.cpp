// SPDX-License-Identifier: BSD-3-Clause
// Kernels of a program's own: texts that this folder's compile_program_kernels.py made of them when the program was
// built, loaded by the driver.
#include "sluice/testing/program_kernels.h"

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

sluice_result_t check_graphs() {
  if (g_driver.cuStreamBeginCapture != nullptr && g_driver.cuStreamEndCapture != nullptr &&
      g_driver.cuGraphInstantiate != nullptr && g_driver.cuGraphLaunch != nullptr &&
      g_driver.cuGraphDestroy != nullptr && g_driver.cuGraphExecDestroy != nullptr) {
    return SLUICE_SUCCESS;
  }
  return fail(SLUICE_ERROR_UNSUPPORTED, "this driver has no graphs");
}

// As the runtime's default has it: the strictest of modes for whoever else calls the driver meanwhile.
sluice_result_t graph_begin(void *native) {
  const sluice_result_t result = check_graphs();
  if (result != SLUICE_SUCCESS) return result;
  return translate("cuStreamBeginCapture",
                   g_driver.cuStreamBeginCapture(static_cast<CUstream>(native), CU_STREAM_CAPTURE_MODE_GLOBAL));
}

sluice_result_t graph_end(void *native, void **graph) {
  CUgraph captured = nullptr;
  CUgraphExec made = nullptr;
  sluice_result_t result =
      translate("cuStreamEndCapture", g_driver.cuStreamEndCapture(static_cast<CUstream>(native), &captured));
  if (result != SLUICE_SUCCESS) return result;
  result = translate("cuGraphInstantiate", g_driver.cuGraphInstantiate(&made, captured, 0));
  const sluice_result_t destroyed = translate("cuGraphDestroy", g_driver.cuGraphDestroy(captured));
  if (result == SLUICE_SUCCESS) *graph = made;
  return result != SLUICE_SUCCESS ? result : destroyed;
}

sluice_result_t graph_launch(void *graph, void *native) {
  return translate("cuGraphLaunch",
                   g_driver.cuGraphLaunch(static_cast<CUgraphExec>(graph), static_cast<CUstream>(native)));
}

sluice_result_t graph_destroy(void *graph) {
  return translate("cuGraphExecDestroy", g_driver.cuGraphExecDestroy(static_cast<CUgraphExec>(graph)));
}

}  // namespace
}  // namespace sluice::backends::cuda

#define SLUICE_MODULE_NAMESPACE cuda
#include "../exported_program_kernels.inc"
