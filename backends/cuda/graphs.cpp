// SPDX-License-Identifier: BSD-3-Clause
#include "graphs.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "module.h"
#include "waits.h"

namespace sluice::backends::cuda {

namespace {

bool has_graphs() {
  return g_driver.cuGraphCreate != nullptr && g_driver.cuGraphDestroy != nullptr &&
         g_driver.cuGraphAddKernelNode != nullptr && g_driver.cuGraphInstantiate != nullptr &&
         g_driver.cuGraphExecDestroy != nullptr && g_driver.cuGraphLaunch != nullptr &&
         g_driver.cuGraphExecKernelNodeSetParams != nullptr;
}

CUDA_KERNEL_NODE_PARAMS parameters_of(const KernelLaunch &launch, void **arguments) {
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  parameters.func = launch.function;
  parameters.gridDimX = launch.n_blocks;
  parameters.gridDimY = 1;
  parameters.gridDimZ = 1;
  parameters.blockDimX = launch.n_threads;
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

// The stream's graph of the kernel, made when there is none; null where there is to be none, or not now.
KernelGraph *find_graph(const KernelText &text, const CUDA_KERNEL_NODE_PARAMS &parameters, KernelGraphs *graphs) {
  const auto found = std::ranges::find(*graphs, &text, &KernelGraph::text);
  if (found != graphs->end()) return found->executable != nullptr ? &*found : nullptr;
  if (g_launches == Launches::kKernel || graphs->size() >= kMostGraphs || !has_graphs()) return nullptr;
  const Quiet quiet;
  if (!quiet.is_kept()) return nullptr;
  graphs->emplace_back().text = &text;
  KernelGraph *made = &graphs->back();
  const std::string why = make(parameters, made);
  if (why.empty()) return made;
  log_line(2, (std::string("the kernel ") + text.name + " is launched by itself, not as a graph: " + why).c_str());
  return nullptr;
}

sluice_result_t launch_by_itself(const KernelLaunch &launch, void **arguments, CUstream stream) {
  return translate("cuLaunchKernel", g_driver.cuLaunchKernel(launch.function, launch.n_blocks, 1, 1, launch.n_threads,
                                                             1, 1, 0, stream, arguments, nullptr));
}

// What was launched before keeps the arguments that it was launched with.
sluice_result_t set_parameters(const KernelGraph &graph, const CUDA_KERNEL_NODE_PARAMS &parameters) {
  return translate("cuGraphExecKernelNodeSetParams",
                   g_driver.cuGraphExecKernelNodeSetParams(graph.executable, graph.node, &parameters));
}

bool is_like_last(const KernelGraph &graph, const KernelLaunch &launch, size_t task_bytes,
                  const kernels::EndTask &told) {
  return graph.last.size() == task_bytes && graph.last_blocks == launch.n_blocks &&
         std::memcmp(graph.last.data(), launch.task, task_bytes) == 0 &&
         std::memcmp(&graph.last_end, &told, sizeof told) == 0;
}

}  // namespace

void prepare_graph(const KernelLaunch &launch, KernelGraphs *graphs) {
  if (graphs == nullptr) return;
  void *arguments[] = {launch.task};
  static_cast<void>(find_graph(*launch.text, parameters_of(launch, arguments), graphs));
}

sluice_result_t launch_kernel(const KernelLaunch &launch, KernelGraphs *graphs, CUstream stream) {
  void *arguments[] = {launch.task};
  const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(launch, arguments);
  const KernelGraph *graph = graphs == nullptr ? nullptr : find_graph(*launch.text, parameters, graphs);
  if (graph == nullptr) return launch_by_itself(launch, arguments, stream);
  const sluice_result_t result = set_parameters(*graph, parameters);
  if (result != SLUICE_SUCCESS) return result;
  return translate("cuGraphLaunch", g_driver.cuGraphLaunch(graph->executable, stream));
}

sluice_result_t launch_kernel_of_queue(const KernelLaunch &launch, size_t task_bytes, const EndWords &words,
                                       KernelGraphs *graphs, CUstream stream, AwaitedEnd *end) {
  *end = {};
  kernels::EndTask told = {};
  void *arguments[] = {launch.task, &told};
  const CUDA_KERNEL_NODE_PARAMS parameters = parameters_of(launch, arguments);
  KernelGraph *graph = graphs == nullptr ? nullptr : find_graph(*launch.text, parameters, graphs);
  if (graph == nullptr) return launch_by_itself(launch, arguments, stream);
  const auto index = static_cast<size_t>(graph - graphs->data());
  const bool tells = words.words != nullptr && launch.n_blocks == 1;
  if (tells) {
    told.word = reinterpret_cast<uint64_t *>(words.address) + index;
    told.place = words.place;
    told.is_first = graph->n_told == 0 ? 1 : 0;
  }
  if (!is_like_last(*graph, launch, task_bytes, told)) {
    graph->last.clear();
    const sluice_result_t result = set_parameters(*graph, parameters);
    if (result != SLUICE_SUCCESS) return result;
    const auto *task = static_cast<const std::byte *>(launch.task);
    graph->last.assign(task, task + task_bytes);
    graph->last_end = told;
    graph->last_blocks = launch.n_blocks;
  }
  const sluice_result_t result = translate("cuGraphLaunch", g_driver.cuGraphLaunch(graph->executable, stream));
  if (result == SLUICE_SUCCESS && tells) *end = {words.words + index, ++graph->n_told};
  return result;
}

sluice_result_t graphs_close(KernelGraphs *graphs) {
  sluice_result_t result = SLUICE_SUCCESS;
  const auto close = [&](const char *call, CUresult native) {
    if (native != CUDA_SUCCESS && result == SLUICE_SUCCESS) result = translate(call, native);
  };
  for (const KernelGraph &graph : *graphs) {
    if (graph.executable != nullptr) close("cuGraphExecDestroy", g_driver.cuGraphExecDestroy(graph.executable));
    if (graph.graph != nullptr) close("cuGraphDestroy", g_driver.cuGraphDestroy(graph.graph));
  }
  graphs->clear();
  return result;
}

}  // namespace sluice::backends::cuda
