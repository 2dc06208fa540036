// SPDX-License-Identifier: BSD-3-Clause
// Kernels launched as graphs of one (SLUICE_CUDA_LAUNCH; docs/adr/0044).
#pragma once

#include <vector>

#include "end.hpp"
#include "kernels.h"

namespace sluice::backends::cuda {

// One kernel for one stream, ready to be launched with other arguments.
struct KernelGraph {
  const KernelText *text = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;  // null: it could not be made, and is not tried again
  // What it was launched with last, which need not be said again; empty: it has to be.
  std::vector<std::byte> last;
  kernels::EndTask last_end{};
  unsigned last_blocks = 0;
  uint64_t n_told = 0;  // launches that told of their end
};

// Those of one stream. One thread at a time.
using KernelGraphs = std::vector<KernelGraph>;

// Words of the host's that kernels of one stream count up when they end, one for each graph of it, all 0 at first.
struct EndWords {
  uint64_t *words = nullptr;  // null: none are told
  CUdeviceptr address = 0;
  uint32_t place = 0;  // kernels/end.hpp
};
// What has to be seen for a launch to have ended.
struct AwaitedEnd {
  uint64_t *word = nullptr;  // null: it does not tell
  uint64_t value = 0;
};
// A stream runs few kernels: one or two reductions, copies, packing, messages.
inline constexpr size_t kMostGraphs = 8;

// A launch of one kernel with one argument, `task`, which is copied; with another one where it tells of its end.
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

// The same for a kernel of a queue, which tells of its end where it is launched as a graph, of one block, and there
// are words: *end is then what to look at. `task_bytes`: of launch.task, in which nothing is left unsaid.
sluice_result_t launch_kernel_of_queue(const KernelLaunch &launch, size_t task_bytes, const EndWords &words,
                                       KernelGraphs *graphs, CUstream stream, AwaitedEnd *end);

// Gives them back. None of them is to be launched any more; those in a stream run. In their context.
sluice_result_t graphs_close(KernelGraphs *graphs);

}  // namespace sluice::backends::cuda
