// SPDX-License-Identifier: BSD-3-Clause
// Kernels launched as graphs of one (SLUICE_CUDA_LAUNCH; docs/adr/0044).
#pragma once

#include <vector>

#include "kernels.h"

namespace sluice::backends::cuda {

// One kernel for one stream, ready to be launched with other arguments.
struct KernelGraph {
  const KernelText *text = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;  // null: it could not be made, and is not tried again
};

// Those of one stream. One thread at a time.
using KernelGraphs = std::vector<KernelGraph>;

// A launch of one kernel with one argument, `task`, which is copied.
struct KernelLaunch {
  const KernelText *text;
  CUfunction function;
  unsigned n_blocks;
  unsigned n_threads;
  void *task;
};

// Makes its graph if there is none, so that the first launch need not. Making one may wait for the device, so none is
// made while a stream of the program's waits. In the context of the kernel. `graphs` null: does nothing.
void prepare_graph(const KernelLaunch &launch, KernelGraphs *graphs);

// Enqueues a kernel as a graph, or by itself: without `graphs`, with SLUICE_CUDA_LAUNCH=kernel, where this driver has
// no graphs, where one cannot be made, now (a stream of the program's waits) or ever (logged once), or where there are
// as many as are kept. In the context of the kernel and of `stream`.
sluice_result_t launch_kernel(const KernelLaunch &launch, KernelGraphs *graphs, CUstream stream);

// Gives them back. None of them is to be launched any more; those in a stream run. In their context.
sluice_result_t graphs_close(KernelGraphs *graphs);

}  // namespace sluice::backends::cuda
