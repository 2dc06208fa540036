// SPDX-License-Identifier: BSD-3-Clause
// Kernels launched as graphs of one (SLUICE_CUDA_LAUNCH=graph; docs/adr/0044).
#pragma once

#include "kernels.h"

struct sluice_queue;

namespace sluice::backends::cuda {

// One kernel of one queue, ready to be launched with other arguments.
struct KernelGraph {
  const KernelText *text = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;  // null: it could not be made, and is not tried again
};

// Enqueues `kernel`, which is of `text`, with its one argument `task`, which is copied, as a graph. The queue's context
// is current. *is_launched stays false where the kernel is to be launched by itself: this driver has no graphs, one
// cannot be made, now (a stream of the program's waits) or ever (logged once), or the queue has as many as it keeps.
// Makes the graph when it is asked for first, which may wait for the device.
sluice_result_t launch_as_graph(sluice_queue *queue, const KernelText &text, const Kernel &kernel, unsigned n_blocks,
                                void *task, bool *is_launched);

// Gives them back. The stream is idle, the context current.
sluice_result_t graphs_close(sluice_queue *queue);

}  // namespace sluice::backends::cuda
