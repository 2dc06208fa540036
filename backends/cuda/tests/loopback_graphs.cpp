// SPDX-License-Identifier: BSD-3-Clause
// Graphs of the loop-back driver: of one kernel, which is all that the module makes.
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "loopback.h"

using loopback::current;
using loopback::state;

struct CUgraphNode_st {
  CUfunction function = nullptr;
  loopback::Launch launch;  // with its arguments
};
struct CUgraph_st {
  std::unique_ptr<CUgraphNode_st> node;
};
struct CUgraphExec_st {
  loopback::Launch launch;
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

}  // namespace

CUresult cuGraphCreate(CUgraph *graph, unsigned /*flags*/) {
  *graph = new CUgraph_st();
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode * /*needs*/, size_t /*n_needs*/,
                              const CUDA_KERNEL_NODE_PARAMS *parameters) {
  if (graph->node != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  auto made = std::make_unique<CUgraphNode_st>(CUgraphNode_st{parameters->func, launch_of(*parameters)});
  if (made->launch.run == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *node = made.get();
  graph->node = std::move(made);
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec *executable, CUgraph graph, unsigned long long /*flags*/) {
  loopback::hold_up();
  const std::scoped_lock lock(state().mutex);
  if (state().refuses_graphs || graph->node == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  *executable = new CUgraphExec_st{graph->node->launch};
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
  // A graph keeps the kernel that it was made with.
  if (parameters->func != node->function) return CUDA_ERROR_INVALID_VALUE;
  loopback::Launch launch = launch_of(*parameters);
  if (launch.run == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++state().n_set_parameters;
  executable->launch = std::move(launch);
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (stream->context() != current()) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult result = loopback::enqueue_launch(executable->launch, stream);
  if (result == CUDA_SUCCESS) ++state().n_graphs;
  return result;
}
