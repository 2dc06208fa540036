// SPDX-License-Identifier: BSD-3-Clause
// Messages captured into a program's graph (docs/adr/0057): nodes with a kernel, added to the graph by hand instead of
// launched into the stream that is being captured, so that they run beside what is captured until the join.
#include "stream_capture.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "captured.hpp"
#include "launch.h"

namespace sluice::backends::cuda {
namespace {

constexpr KernelText kText =
#include "captured.inc"
    ;

static_assert(sizeof(kernels::CapturedEnd) == sizeof(sluice_captured_end_t));
static_assert(offsetof(kernels::CapturedEnd, is_ready) == offsetof(sluice_captured_end_t, is_ready));
static_assert(offsetof(kernels::CapturedEnd, n_done) == offsetof(sluice_captured_end_t, n_done));

// As for messages in a stream (stream_message.cpp).
constexpr uint64_t kMostOfOneBlock = uint64_t{64} << 10U;
constexpr uint64_t kPartBytes = uint64_t{32} << 10U;
constexpr uint64_t kMostParts = 32;
constexpr uint32_t kMostWaitingBlocks = 16;
constexpr uint64_t kWarp = 32;
constexpr uint64_t kVectorBytes = 16;
constexpr uint64_t kMostThreads = 1024;

// What the stream is being captured into, and behind which of its nodes the next command would come. The nodes are the
// driver's, until the stream is told of anything else.
struct Capturing {
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  std::span<const CUgraphNode> behind;
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
  found->behind = std::span(nodes, n_nodes);
  return SLUICE_SUCCESS;
}

sluice_result_t set_behind(const sluice_stream &stream, std::vector<CUgraphNode> *nodes, unsigned how) {
#if CUDA_VERSION >= 13000
  const CUresult native =
      g_driver.cuStreamUpdateCaptureDependencies(stream.stream, nodes->data(), nullptr, nodes->size(), how);
#else
  const CUresult native = g_driver.cuStreamUpdateCaptureDependencies(stream.stream, nodes->data(), nodes->size(), how);
#endif
  return translate("cuStreamUpdateCaptureDependencies", native);
}

uint32_t parts_for(uint64_t size_bytes) {
  if (size_bytes <= kMostOfOneBlock) return 1;
  return static_cast<uint32_t>(std::min((size_bytes + kPartBytes - 1) / kPartBytes, kMostParts));
}

// With several parts a work-item has as many words of each as it has under way at once.
unsigned threads_for(const sluice_captured_t &message) {
  if (parts_for(message.size_bytes) > 1) return kBlockThreads;
  const uint64_t n_vectors = message.size_bytes / kVectorBytes + 1;
  return static_cast<unsigned>(std::min((n_vectors + kWarp - 1) / kWarp * kWarp, kMostThreads));
}

// Adds a node for at most kMostCaptured messages, all sends or all receives. A block that waits for another process
// keeps its place on the device from others, so receives have few.
sluice_result_t add_node(const sluice_stream &stream, CUgraph graph, std::span<const CUgraphNode> behind,
                         std::span<const sluice_captured_t *const> messages, CUgraphNode *node) {
  kernels::CapturedList list = {};
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  parameters.blockDimX = kWarp;
  for (const sluice_captured_t *message : messages) {
    const uint32_t n_parts = parts_for(message->size_bytes);
    list.tasks[list.n_tasks++] = {reinterpret_cast<kernels::CapturedEnd *>(message->end),
                                  static_cast<unsigned char *>(message->data), message->is_send != 0 ? 1U : 0U,
                                  n_parts};
    list.n_parts += n_parts;
    parameters.blockDimX = std::max(parameters.blockDimX, threads_for(*message));
  }
  const bool is_send = messages.front()->is_send != 0;
  void *arguments[] = {&list};
  parameters.func = stream.captured.function;
  parameters.gridDimX = is_send ? list.n_parts : std::min(list.n_parts, kMostWaitingBlocks);
  parameters.gridDimY = parameters.gridDimZ = parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.kernelParams = arguments;
  return translate("cuGraphAddKernelNode",
                   g_driver.cuGraphAddKernelNode(node, graph, behind.data(), behind.size(), &parameters));
}

// The nodes of one call. Where the driver refuses one, those before it go again.
class Nodes {
 public:
  Nodes(const sluice_stream &stream, const Capturing &capturing)
      : stream_(stream), graph_(capturing.graph), behind_(capturing.behind.begin(), capturing.behind.end()) {}

  // One behind the other, each behind those before.
  sluice_result_t add(const std::vector<const sluice_captured_t *> &messages) {
    const std::span all(messages);
    for (size_t first = 0; first < all.size(); first += kernels::kMostCaptured) {
      const size_t count = std::min<size_t>(all.size() - first, kernels::kMostCaptured);
      CUgraphNode node = nullptr;
      const sluice_result_t result = add_node(stream_, graph_, behind_, all.subspan(first, count), &node);
      if (result != SLUICE_SUCCESS) return result;
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
  }
  // The only one that nothing of these is behind.
  CUgraphNode last() const { return added_.back(); }

 private:
  const sluice_stream &stream_;
  CUgraph graph_;
  std::vector<CUgraphNode> behind_;
  std::vector<CUgraphNode> added_;
};

sluice_result_t null_stream() {
  return fail(SLUICE_ERROR_INVALID_ARGUMENT, "the stream is null");
}

// Loading a kernel is not allowed while a stream is captured in the strictest mode, but with the thread's mode relaxed,
// as it is within a ContextScope.
sluice_result_t find_captured(sluice_stream *stream) {
  if (stream->captured.function != nullptr) return SLUICE_SUCCESS;
  if (!can_run_kernels(stream->device)) return fail(SLUICE_ERROR_UNSUPPORTED, "this device takes no kernels of ours");
  return find_kernel(kText, stream->device, &stream->captured);
}

}  // namespace

int32_t is_captured(sluice_stream_t *stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (stream == nullptr || g_driver.cuStreamIsCapturing(stream->stream, &status) != CUDA_SUCCESS) return 0;
  return status != CU_STREAM_CAPTURE_STATUS_NONE ? 1 : 0;
}

sluice_result_t capture(sluice_stream_t *stream, const sluice_captured_t *messages, uint32_t n) {
  if (stream == nullptr) return null_stream();
  const ContextScope scope(stream->context);
  sluice_result_t result = scope.result();
  Capturing capturing;
  if (result == SLUICE_SUCCESS) result = look(*stream, &capturing);
  if (result == SLUICE_SUCCESS) result = find_captured(stream);
  if (result != SLUICE_SUCCESS) return result;
  std::vector<const sluice_captured_t *> sends;
  std::vector<const sluice_captured_t *> receives;
  for (const sluice_captured_t &message : std::span(messages, n)) {
    (message.is_send != 0 ? sends : receives).push_back(&message);
  }
  CaptureState &state = stream->capture;
  if (state.id != capturing.id) state = {};
  if (state.unjoined.empty()) state.behind.assign(capturing.behind.begin(), capturing.behind.end());
  Nodes nodes(*stream, capturing);
  result = nodes.add(sends);
  if (result == SLUICE_SUCCESS) result = nodes.add(receives);
  if (result != SLUICE_SUCCESS) {
    nodes.take_back();
    return result;
  }
  state.id = capturing.id;
  if (n != 0) state.unjoined.push_back(nodes.last());
  state.has_messages = true;
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
  CaptureState &state = stream->capture;
  if (state.id != capturing.id || !state.has_messages) {
    return fail(SLUICE_ERROR_UNSUPPORTED,
                "no message was captured into this graph; call MPIX_Enqueue_start before MPIX_Enqueue_wait");
  }
  if (state.unjoined.empty()) return SLUICE_SUCCESS;
  const bool is_alone = std::ranges::equal(capturing.behind, state.behind);
  result = set_behind(*stream, &state.unjoined,
                      is_alone ? CU_STREAM_SET_CAPTURE_DEPENDENCIES : CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
  if (result == SLUICE_SUCCESS) state.unjoined.clear();
  return result;
}

}  // namespace sluice::backends::cuda
