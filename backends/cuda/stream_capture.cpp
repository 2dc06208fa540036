// SPDX-License-Identifier: BSD-3-Clause
// Messages captured into a program's graph (docs/adr/0057): nodes with a kernel, added to the graph by hand instead of
// launched into the stream that is being captured, so that they run beside what is captured until the join.
#include "stream_capture.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "captured.hpp"
#include "launch.h"
#include "message_blocks.h"

namespace sluice::backends::cuda {
namespace {

using GraphNodes = std::vector<CUgraphNode>;

constexpr KernelText kText =
#include "captured.inc"
    ;

static_assert(sizeof(kernels::CapturedEnd) == sizeof(sluice_captured_end_t));
static_assert(kernels::kCapturedSlots == SLUICE_CAPTURED_SLOTS);
static_assert(offsetof(kernels::CapturedEnd, is_ready) == offsetof(sluice_captured_end_t, is_ready));
static_assert(offsetof(kernels::CapturedEnd, n_done) == offsetof(sluice_captured_end_t, n_done));

// What the stream is being captured into, and behind which of its nodes the next command would come.
struct Capturing {
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  GraphNodes behind;
};

sluice_result_t look(const sluice_stream &stream, Capturing *found) {
  if (g_driver.cuStreamGetCaptureInfo == nullptr || g_driver.cuStreamUpdateCaptureDependencies == nullptr ||
      g_driver.cuGraphAddKernelNode == nullptr) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "this driver does not let a library add to a graph that is being captured");
  }
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode *nodes = nullptr;
  size_t n_nodes = 0;
#if CUDA_VERSION >= 13000
  const CUresult native =
      g_driver.cuStreamGetCaptureInfo(stream.stream, &status, &found->id, &found->graph, &nodes, nullptr, &n_nodes);
#else
  const CUresult native =
      g_driver.cuStreamGetCaptureInfo(stream.stream, &status, &found->id, &found->graph, &nodes, &n_nodes);
#endif
  if (native != CUDA_SUCCESS) return translate("cuStreamGetCaptureInfo", native);
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return fail(SLUICE_ERROR_UNSUPPORTED, status == CU_STREAM_CAPTURE_STATUS_NONE
                                              ? "the stream is not being captured into a graph"
                                              : "the capture of this stream has failed; end it and begin another");
  }
  found->behind.assign(nodes, nodes + n_nodes);
  return SLUICE_SUCCESS;
}

sluice_result_t set_behind(const sluice_stream &stream, GraphNodes *nodes, unsigned how) {
#if CUDA_VERSION >= 13000
  const CUresult native =
      g_driver.cuStreamUpdateCaptureDependencies(stream.stream, nodes->data(), nullptr, nodes->size(), how);
#else
  const CUresult native = g_driver.cuStreamUpdateCaptureDependencies(stream.stream, nodes->data(), nodes->size(), how);
#endif
  return translate("cuStreamUpdateCaptureDependencies", native);
}

// Adds a node for at most kMostCaptured messages, all sends or all receives. A block that waits for another process
// keeps its place on the device from others, so receives have few.
sluice_result_t add_node(const sluice_stream &stream, CUgraph graph, std::span<const CUgraphNode> behind,
                         std::span<const sluice_captured_t> messages, CUgraphNode *node) {
  kernels::CapturedList list = {};
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  parameters.blockDimX = kWarp;
  for (const sluice_captured_t &message : messages) {
    const uint32_t n_parts = message_parts(message.size_bytes);
    list.tasks[list.n_tasks++] = {reinterpret_cast<kernels::CapturedEnd *>(message.end),
                                  static_cast<unsigned char *>(message.data), message.is_send != 0 ? 1U : 0U, n_parts};
    list.n_parts += n_parts;
    parameters.blockDimX = std::max(parameters.blockDimX, message_threads(message.size_bytes, n_parts));
  }
  const bool is_send = messages.front().is_send != 0;
  void *arguments[] = {&list};
  parameters.func = stream.captured_kernel.function;
  parameters.gridDimX =
      is_send ? list.n_parts : static_cast<unsigned>(std::min<uint64_t>(list.n_parts, kMostWaitingBlocksOfLong));
  parameters.gridDimY = parameters.gridDimZ = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = arguments;
  return translate("cuGraphAddKernelNode",
                   g_driver.cuGraphAddKernelNode(node, graph, behind.data(), behind.size(), &parameters));
}

// Nodes one behind the other, the first one behind what it is told. Where the driver refuses one, all go again.
class Chain {
 public:
  Chain(const sluice_stream &stream, CUgraph graph, std::span<const CUgraphNode> behind)
      : stream_(stream), graph_(graph), behind_(behind.begin(), behind.end()) {}

  sluice_result_t add(std::span<const sluice_captured_t> messages) {
    for (size_t first = 0; first < messages.size(); first += kernels::kMostCaptured) {
      const size_t count = std::min<size_t>(messages.size() - first, kernels::kMostCaptured);
      CUgraphNode node = nullptr;
      const sluice_result_t result = add_node(stream_, graph_, behind_, messages.subspan(first, count), &node);
      if (result != SLUICE_SUCCESS) {
        take_back();
        return result;
      }
      added_.push_back(node);
      behind_ = {node};
    }
    return SLUICE_SUCCESS;
  }
  void take_back() {
    for (const CUgraphNode node : added_) {
      if (g_driver.cuGraphDestroyNode == nullptr || g_driver.cuGraphDestroyNode(node) != CUDA_SUCCESS) {
        log_line(1, "a message that was not captured after all is left in the program's graph: do not launch that");
      }
    }
    added_.clear();
  }
  // Whoever is behind these nodes, or behind what they would have been behind.
  const GraphNodes &behind() const { return behind_; }
  bool is_empty() const { return added_.empty(); }

 private:
  const sluice_stream &stream_;
  CUgraph graph_;
  GraphNodes behind_;
  GraphNodes added_;
};

// What all queues of a stream of the program's have captured there.
struct CapturedStream {
  unsigned long long id = 0;  // of the capture
  uint64_t n_joins = 0;
  bool is_unjoined = false;  // there was a call since the last one
  GraphNodes before_first;   // where the stream was at the first of these
  GraphNodes sends;          // the last of each of these, that nothing is behind yet
  GraphNodes before_send;    // where it was at the last of these with sends
};

// Whoever uses it keeps others from the stream meanwhile, as for all commands; what was of an earlier capture is gone.
CapturedStream *state_of(const sluice_stream &stream, const Capturing &capturing) {
  static std::mutex mutex;
  static auto *const all = new std::map<CUstream, CapturedStream>();
  const std::scoped_lock lock(mutex);
  CapturedStream &found = (*all)[stream.stream];
  if (found.id != capturing.id) {
    found = {};
    found.id = capturing.id;
  }
  return &found;
}

// Receives of an earlier graph that nobody waited for are no part of that.
void forget_earlier(sluice_stream *stream, const Capturing &capturing) {
  if (stream->captured.id == capturing.id) return;
  if (!stream->captured.receives.empty()) {
    log_line(1,
             "a stream was captured into a graph with receives, and without MPIX_Enqueue_wait behind them: that graph "
             "receives nothing, and whoever sends to it waits at the third launch");
  }
  stream->captured = {};
}

// What receives come behind: all sends of the stream, and whatever was there when they were started. Sends that
// somebody has joined since then are before what the stream is at now.
GraphNodes before_receives(const sluice_stream &stream, const CapturedStream &state, const Capturing &capturing) {
  GraphNodes nodes = state.sends;
  const bool is_joined = stream.captured.n_joins != state.n_joins;
  const GraphNodes &started = is_joined ? capturing.behind : stream.captured.before_receives;
  if (nodes.empty() || started != state.before_send) nodes.insert(nodes.end(), started.begin(), started.end());
  return nodes;
}

sluice_result_t null_stream() {
  return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the stream is null");
}

// Loading a kernel is not allowed while a stream is captured in the strictest mode, but with the thread's mode relaxed,
// as it is within a ContextScope.
sluice_result_t find_captured(sluice_stream *stream) {
  if (stream->captured_kernel.function != nullptr) return SLUICE_SUCCESS;
  if (!can_run_kernels(stream->device)) return fail(SLUICE_ERROR_UNSUPPORTED, "this device takes no kernels of ours");
  return find_kernel(kText, stream->device, &stream->captured_kernel);
}

}  // namespace

int32_t is_captured(sluice_stream_t *stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (stream == nullptr || g_driver.cuStreamIsCapturing(stream->stream, &status) != CUDA_SUCCESS) return 0;
  return status != CU_STREAM_CAPTURE_STATUS_NONE ? 1 : 0;
}

// Sends go into the graph now, receives at the join: behind all sends of the stream, because two of its nodes with no
// order may be run one behind the other by a device that has few connections, and a receive that waits before a send
// might wait for ever.
sluice_result_t capture(sluice_stream_t *stream, const sluice_captured_t *messages, uint32_t n) {
  if (stream == nullptr) return null_stream();
  const ContextScope scope(stream->context);
  sluice_result_t result = scope.result();
  Capturing capturing;
  if (result == SLUICE_SUCCESS) result = look(*stream, &capturing);
  if (result == SLUICE_SUCCESS) result = find_captured(stream);
  if (result != SLUICE_SUCCESS) return result;
  std::vector<sluice_captured_t> sends;
  std::vector<sluice_captured_t> receives;
  for (const sluice_captured_t &message : std::span(messages, n)) {
    (message.is_send != 0 ? sends : receives).push_back(message);
  }
  Chain chain(*stream, capturing.graph, capturing.behind);
  result = chain.add(sends);
  if (result != SLUICE_SUCCESS) return result;
  forget_earlier(stream, capturing);
  CapturedStream *state = state_of(*stream, capturing);
  if (!state->is_unjoined) state->before_first = capturing.behind;
  state->is_unjoined = true;
  if (!chain.is_empty()) {
    state->sends.push_back(chain.behind().front());
    state->before_send = capturing.behind;
  }
  CapturedReceives &own = stream->captured;
  own.id = capturing.id;
  if (!receives.empty()) {
    own.receives.insert(own.receives.end(), receives.begin(), receives.end());
    own.before_receives = capturing.behind;
    own.n_joins = state->n_joins;
  }
  return SLUICE_SUCCESS;
}

// Where nothing was captured since the messages were, the stream goes on behind them alone: they are behind what it was
// behind, and a graph with fewer edges is quicker.
sluice_result_t capture_join(sluice_stream_t *stream) {
  if (stream == nullptr) return null_stream();
  const ContextScope scope(stream->context);
  sluice_result_t result = scope.result();
  Capturing capturing;
  if (result == SLUICE_SUCCESS) result = look(*stream, &capturing);
  if (result != SLUICE_SUCCESS) return result;
  forget_earlier(stream, capturing);
  if (stream->captured.id != capturing.id) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "no message was captured into this graph; call MPIX_Enqueue_start before MPIX_Enqueue_wait");
  }
  CapturedStream *state = state_of(*stream, capturing);
  Chain chain(*stream, capturing.graph, before_receives(*stream, *state, capturing));
  result = chain.add(stream->captured.receives);
  if (result != SLUICE_SUCCESS) return result;
  GraphNodes joined = chain.is_empty() ? state->sends : chain.behind();
  const bool is_alone = state->is_unjoined && capturing.behind == state->before_first;
  if (!joined.empty()) {
    result = set_behind(*stream, &joined,
                        is_alone ? CU_STREAM_SET_CAPTURE_DEPENDENCIES : CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
  }
  if (result != SLUICE_SUCCESS) {
    chain.take_back();
    return result;
  }
  stream->captured.receives.clear();
  state->sends.clear();
  state->is_unjoined = false;
  ++state->n_joins;
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::cuda
