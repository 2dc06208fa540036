// SPDX-License-Identifier: BSD-3-Clause
// A stream of the program's, and what is asked before a command goes into it.
#pragma once

#include "graphs.h"
#include "kernels.h"
#include "message.hpp"
#include "module.h"
#include "sluice/stream_message.h"

namespace sluice::backends::cuda {

// Where sends go that hold up nothing of the program's stream, or receives (docs/adr/0052): a stream of the module's
// own, which waits for the program's by one event, and for which the program's waits by another. What runs there runs
// beside the program's stream: its kernels' graphs and the place that their blocks share are its own.
struct StreamSide {
  CUstream stream = nullptr;  // null: none
  CUevent before = nullptr;   // recorded in the program's stream
  CUevent behind = nullptr;   // recorded here
  KernelGraphs graphs;        // with SLUICE_CUDA_LAUNCH=graph
  uint32_t shared = 0;        // as the stream's
  bool is_refused = false;    // it could not be made, and is not tried again
};

// What the next join is to add to the graph that the stream is captured into (stream_capture.cpp).
struct CapturedReceives {
  unsigned long long id = 0;  // of the capture; 0: nothing was captured yet
  std::vector<sluice_captured_t> receives;
  std::vector<CUgraphNode> before_receives;  // where the stream was when the last of these was started
  uint64_t n_joins = 0;                      // of the stream, then
};

}  // namespace sluice::backends::cuda

struct sluice_stream {
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  int32_t device = 0;
  // The kernels of messages in this context, of one, of a few and of several; without a function: there is none.
  sluice::backends::cuda::Kernel message;
  sluice::backends::cuda::Kernel few_messages;
  sluice::backends::cuda::Kernel messages;
  sluice::backends::cuda::Kernel captured_kernel;  // of messages of a graph; loaded when the first one is captured
  sluice::backends::cuda::CapturedReceives captured;
  uint32_t shared = 0;                      // one more than the place of those that have several blocks; 0: none yet
  sluice::backends::cuda::StreamSide side;  // of sends, which wait for nothing there
  sluice::backends::cuda::StreamSide receiving_side;  // of receives; only beside the other
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

// What kernels of messages are launched into.
struct Lane {
  CUstream stream;
  KernelGraphs *graphs;  // null where they are launched by themselves
  uint32_t *shared;
};
inline Lane lane_of(sluice_stream *stream) {
  return {stream->stream, graphs_of(stream), &stream->shared};
}
inline Lane lane_of(StreamSide *side) {
  return {side->stream, g_launches == Launches::kGraph ? &side->graphs : nullptr, &side->shared};
}
inline Lane lane_of_side(sluice_stream *stream) {
  return lane_of(&stream->side);
}
inline Lane lane_of_receiving_side(sluice_stream *stream) {
  return lane_of(&stream->receiving_side);
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

// stream_side.cpp; `side` is one of the stream's, whose context is current.
// Makes the side, unless there is one. SLUICE_ERROR_UNSUPPORTED, or the driver's refusal: there is none.
sluice_result_t side_open(const sluice_stream &stream, StreamSide *side);
// What the side is given from here on waits for what the program's stream was given before.
sluice_result_t side_follow(const sluice_stream &stream, const StreamSide &side);
// The same for the side of receives, where the one of sends has just been told to.
sluice_result_t side_follow_with_sends(const sluice_stream &stream);
// What the program's stream is given from here on waits for what the side was given before.
sluice_result_t side_join(const sluice_stream &stream, const StreamSide &side);
// The same for what both sides were given before.
sluice_result_t side_join_both(const sluice_stream &stream);
// Gives it back, if there is one; what is in it runs.
sluice_result_t side_close(StreamSide *side);

// stream.cpp. Whether streams of `device` share so few connections to it that one which waits may hold up others for
// good.
bool has_few_connections(int32_t device);

// stream_kernels.cpp. The first finds both kernels, in the stream's context, which is current;
// SLUICE_ERROR_UNSUPPORTED: they cannot be had, or not while a stream waits. The others enqueue them. `address` is
// where the device finds a word.
sluice_result_t prepare_signals(sluice_stream *stream);
sluice_result_t launch_trigger(sluice_stream *stream, CUdeviceptr address, uint64_t value);
// Whether the next wait of the stream is a kernel. One thread at a time.
bool waits_by_kernel(sluice_stream *stream);
sluice_result_t launch_await(sluice_stream *stream, CUdeviceptr address, uint64_t least);

}  // namespace sluice::backends::cuda
