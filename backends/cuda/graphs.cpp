// SPDX-License-Identifier: BSD-3-Clause
#include "graphs.h"

#include <algorithm>
#include <string>

#include "queue.h"
#include "waits.h"

namespace sluice::backends::cuda {

namespace {

// A queue runs few kernels: one or two reductions, copies, packing.
constexpr size_t kMostGraphs = 8;

bool has_graphs() {
  return g_driver.cuGraphCreate != nullptr && g_driver.cuGraphDestroy != nullptr &&
         g_driver.cuGraphAddKernelNode != nullptr && g_driver.cuGraphInstantiate != nullptr &&
         g_driver.cuGraphExecDestroy != nullptr && g_driver.cuGraphLaunch != nullptr &&
         g_driver.cuGraphExecKernelNodeSetParams != nullptr;
}

CUDA_KERNEL_NODE_PARAMS parameters_of(const Kernel &kernel, unsigned n_blocks, void **arguments) {
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  parameters.func = kernel.function;
  parameters.gridDimX = n_blocks;
  parameters.gridDimY = 1;
  parameters.gridDimZ = 1;
  parameters.blockDimX = kBlockThreads;
  parameters.blockDimY = 1;
  parameters.blockDimZ = 1;
  parameters.kernelParams = arguments;
  return parameters;
}

// "" or why there is no graph; what was made of it so far stays in *made.
std::string make(const CUDA_KERNEL_NODE_PARAMS &parameters, KernelGraph *made) {
  CUresult native = g_driver.cuGraphCreate(&made->graph, 0);
  if (native != CUDA_SUCCESS) return native_text(g_driver, "cuGraphCreate", native);
  native = g_driver.cuGraphAddKernelNode(&made->node, made->graph, nullptr, 0, &parameters);
  if (native != CUDA_SUCCESS) return native_text(g_driver, "cuGraphAddKernelNode", native);
  native = g_driver.cuGraphInstantiate(&made->executable, made->graph, 0);
  if (native == CUDA_SUCCESS) return "";
  made->executable = nullptr;
  return native_text(g_driver, "cuGraphInstantiate", native);
}

// The queue's graph of `text`, made when there is none; null where there is to be none, or not now.
KernelGraph *find_graph(sluice_queue *queue, const KernelText &text, const CUDA_KERNEL_NODE_PARAMS &parameters) {
  const auto found = std::ranges::find(queue->graphs, &text, &KernelGraph::text);
  if (found != queue->graphs.end()) return found->executable != nullptr ? &*found : nullptr;
  if (queue->graphs.size() >= kMostGraphs || !has_graphs()) return nullptr;
  const Quiet quiet;
  if (!quiet.is_kept()) return nullptr;
  queue->graphs.push_back({&text});
  KernelGraph *made = &queue->graphs.back();
  const std::string why = make(parameters, made);
  if (why.empty()) return made;
  log_line(2, (std::string("the kernel ") + text.name + " is launched by itself, not as a graph: " + why).c_str());
  return nullptr;
}

}  // namespace

sluice_result_t launch_as_graph(sluice_queue *queue, const KernelText &text, const Kernel &kernel, unsigned n_blocks,
                                void *task, bool *is_launched) {
  *is_launched = false;
  void *arguments[] = {task};
  const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(kernel, n_blocks, arguments);
  KernelGraph *graph = find_graph(queue, text, parameters);
  if (graph == nullptr) return SLUICE_SUCCESS;
  // What was launched before keeps the arguments that it was launched with.
  CUresult native = g_driver.cuGraphExecKernelNodeSetParams(graph->executable, graph->node, &parameters);
  if (native != CUDA_SUCCESS) return translate("cuGraphExecKernelNodeSetParams", native);
  native = g_driver.cuGraphLaunch(graph->executable, queue->stream);
  *is_launched = native == CUDA_SUCCESS;
  return translate("cuGraphLaunch", native);
}

sluice_result_t graphs_close(sluice_queue *queue) {
  sluice_result_t result = SLUICE_SUCCESS;
  const auto close = [&](const char *call, CUresult native) {
    if (native != CUDA_SUCCESS && result == SLUICE_SUCCESS) result = translate(call, native);
  };
  for (const KernelGraph &graph : queue->graphs) {
    if (graph.executable != nullptr) close("cuGraphExecDestroy", g_driver.cuGraphExecDestroy(graph.executable));
    if (graph.graph != nullptr) close("cuGraphDestroy", g_driver.cuGraphDestroy(graph.graph));
  }
  queue->graphs.clear();
  return result;
}

}  // namespace sluice::backends::cuda
