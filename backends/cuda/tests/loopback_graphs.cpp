// SPDX-License-Identifier: BSD-3-Clause
// Graphs of the loop-back driver: of kernels, as the module makes them, and of whatever a stream was given while it was
// captured.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "loopback.h"

using loopback::current;
using loopback::state;

struct CUgraphNode_st {
  CUfunction function = nullptr;
  loopback::Launch launch;  // with its arguments
  std::vector<CUgraphNode> behind;
  CUgraph graph = nullptr;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
  std::vector<CUgraphNode> nodes;  // of the graph, in the order in which they run; names, no more
  std::vector<loopback::Launch> launches;
};

namespace {

// What the kernel does with the arguments as they are now; nothing for parameters that no kernel takes.
loopback::Launch launch_of(const CUDA_KERNEL_NODE_PARAMS &parameters) {
  const bool has_work = parameters.func != nullptr && parameters.kernelParams != nullptr && parameters.gridDimX > 0 &&
                        parameters.gridDimY == 1 && parameters.gridDimZ == 1 && parameters.blockDimX > 0 &&
                        parameters.blockDimX <= 1024 && parameters.blockDimY == 1 && parameters.blockDimZ == 1;
  if (!has_work || current() == nullptr) return {};
  return loopback::launch_of(parameters.func, parameters.kernelParams, parameters.gridDimX, parameters.blockDimX,
                             current()->device);
}

CUgraphNode add(CUgraph graph, CUfunction function, loopback::Launch launch, std::vector<CUgraphNode> behind) {
  graph->nodes.push_back(
      std::make_unique<CUgraphNode_st>(CUgraphNode_st{function, std::move(launch), std::move(behind), graph}));
  return graph->nodes.back().get();
}

bool is_in(const CUgraph_st &graph, CUgraphNode node) {
  return std::ranges::any_of(graph.nodes, [&](const auto &one) { return one.get() == node; });
}

// Whatever has no order with another runs the wrong way round: of those that nothing holds up the newest comes first.
std::vector<CUgraphNode> order_of(const CUgraph_st &graph) {
  std::vector<CUgraphNode> order;
  const auto has_run = [&](CUgraphNode node) { return std::ranges::find(order, node) != order.end(); };
  while (order.size() < graph.nodes.size()) {
    const auto next = std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), [&](const auto &node) {
      return !has_run(node.get()) && std::ranges::all_of(node->behind, has_run);
    });
    order.push_back(next->get());
  }
  return order;
}

}  // namespace

void loopback::capture(const Launch &launch, Capture *capture) {
  capture->behind = {add(capture->graph, nullptr, launch, capture->behind)};
}

CUresult cuGraphCreate(CUgraph *graph, unsigned /*flags*/) {
  *graph = new CUgraph_st();
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *behind, size_t n_behind,
                              const CUDA_KERNEL_NODE_PARAMS *parameters) {
  loopback::Launch launch = launch_of(*parameters);
  if (launch.run == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!std::all_of(behind, behind + n_behind, [&](CUgraphNode one) { return is_in(*graph, one); })) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (state().n_nodes == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (state().n_nodes > 0) --state().n_nodes;
  std::vector<CUgraphNode> kept(behind, behind + n_behind);
  if (state().forgotten == loopback::Forgotten::kBeforeCaptured) {  // but not that receives come behind sends
    std::erase_if(kept, [&](CUgraphNode one) { return one->function != parameters->func; });
  }
  *node = add(graph, parameters->func, std::move(launch), std::move(kept));
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
  for (const auto &other : node->graph->nodes) std::erase(other->behind, node);
  std::erase_if(node->graph->nodes, [&](const auto &one) { return one.get() == node; });
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph, unsigned long long /*flags*/) {
  loopback::hold_up();
  const std::scoped_lock lock(state().mutex);
  if (state().refuses_graphs || graph->nodes.empty()) return CUDA_ERROR_NOT_SUPPORTED;
  auto *made = new CUgraphExec_st{order_of(*graph), {}};
  for (CUgraphNode node : made->nodes) made->launches.push_back(node->launch);
  *executable = made;
  ++state().n_executables;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete executable;
  --state().n_executables;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS *parameters) {
  const auto found = std::ranges::find(executable->nodes, node);
  // A graph keeps the kernel that it was made with.
  if (found == executable->nodes.end() || parameters->func != node->function) return CUDA_ERROR_INVALID_VALUE;
  loopback::Launch launch = launch_of(*parameters);
  if (launch.run == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++state().n_set_parameters;
  executable->launches[static_cast<size_t>(found - executable->nodes.begin())] = std::move(launch);
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (stream->context() != current()) return CUDA_ERROR_INVALID_CONTEXT;
  CUresult result = CUDA_SUCCESS;
  for (const loopback::Launch &launch : executable->launches) {
    if (result == CUDA_SUCCESS) result = loopback::enqueue_launch(launch, stream);
  }
  if (result == CUDA_SUCCESS) ++state().n_graphs;
  return result;
}

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode /*mode*/) {
  static std::atomic<cuuint64_t> last_id{0};
  if (stream->capture() != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  stream->capture() = std::make_unique<loopback::Capture>(loopback::Capture{++last_id, new CUgraph_st(), {}});
  ++state().n_captures;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  if (stream->capture() == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  *graph = stream->capture()->graph;
  stream->capture().reset();
  --state().n_captures;
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                const CUgraphNode **behind, const CUgraphEdgeData ** /*edges*/, size_t *n_behind) {
#else
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                const CUgraphNode **behind, size_t *n_behind) {
#endif
  const loopback::Capture *capture = stream->capture().get();
  *status = capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  if (capture == nullptr) return CUDA_SUCCESS;
  *id = capture->id;
  *graph = capture->graph;
  *behind = capture->behind.data();
  *n_behind = capture->behind.size();
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, const CUgraphEdgeData * /*edges*/,
                                           size_t n_nodes, unsigned flags) {
#else
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t n_nodes, unsigned flags) {
#endif
  loopback::Capture *capture = stream->capture().get();
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (state().forgotten == loopback::Forgotten::kBehindCaptured) return CUDA_SUCCESS;
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) capture->behind.clear();
  capture->behind.insert(capture->behind.end(), nodes, nodes + n_nodes);
  return CUDA_SUCCESS;
}
