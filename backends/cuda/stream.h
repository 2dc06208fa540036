// SPDX-License-Identifier: BSD-3-Clause
// A stream of the program's, and what is asked before a command goes into it.
#pragma once

#include "graphs.h"
#include "kernels.h"
#include "message.hpp"
#include "module.h"

struct sluice_stream {
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  int32_t device = 0;
  // The kernels of messages in this context, of one and of several; without a function: there is none.
  sluice::backends::cuda::Kernel message;
  sluice::backends::cuda::Kernel messages;
  uint32_t shared = 0;  // one more than the place of those that have several blocks; 0: none yet
  // Where kernels trigger and wait: theirs; without a function: there is none.
  sluice::backends::cuda::Kernel trigger;
  sluice::backends::cuda::Kernel await;
  sluice::backends::cuda::KernelGraphs graphs;  // with SLUICE_CUDA_LAUNCH=graph
  unsigned long long context_number = 0;        // 0: the driver gives contexts none
  // The words that were found last, and when (words_generation()); one for triggers, one for waits.
  struct FoundWord {
    const uint64_t *word = nullptr;
    CUdeviceptr address = 0;
    uint64_t generation = 0;
  };
  FoundWord written;
  FoundWord awaited;
  uint64_t n_waits = 0;
  bool has_no_turns = false;  // nobody waits for this process's turn on the device to end, when it was last asked
};

namespace sluice::backends::cuda {

// Those of kernels in the program's stream; null where they are launched by themselves.
inline KernelGraphs *graphs_of(sluice_stream *stream) {
  return g_launches == Launches::kGraph ? &stream->graphs : nullptr;
}

// Where the device finds a word of memory of host_alloc or host_register; no other memory is taken.
sluice_result_t address_of_word(const uint64_t *word, CUdeviceptr *address);

// SLUICE_ERROR_UNSUPPORTED and a text where `stream` is being captured into a graph. Its context is current.
sluice_result_t check_not_captured(const sluice_stream &stream);

// Finds the kernel of messages; where it has to be loaded, and a stream waits, for which the driver would wait, there
// is none until the next call. The context of `stream` is current.
void prepare_message(sluice_stream *stream);
// Enqueues it, a block for each of its parts; with 0 parts, and then without a mark, in as many blocks as its bytes
// want. The same.
sluice_result_t launch_message(sluice_stream *stream, const kernels::MessageTask &task);

// stream_kernels.cpp. The first finds both kernels, in the stream's context, which is current;
// SLUICE_ERROR_UNSUPPORTED: they cannot be had, or not while a stream waits. The others enqueue them. `address` is
// where the device finds a word.
sluice_result_t prepare_signals(sluice_stream *stream);
sluice_result_t launch_trigger(sluice_stream *stream, CUdeviceptr address, uint64_t value);
// Whether the next wait of the stream is a kernel. One thread at a time.
bool waits_by_kernel(sluice_stream *stream);
sluice_result_t launch_await(sluice_stream *stream, CUdeviceptr address, uint64_t least);

}  // namespace sluice::backends::cuda
