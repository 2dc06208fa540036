// SPDX-License-Identifier: BSD-3-Clause
// Owns the ways to copy between host and device memory that the benchmark compares.
#include <cstring>

#include "bench_device.h"

namespace sluice::backends::cuda::bench {

namespace {

CUdeviceptr address(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

unsigned threads_for(std::size_t size_bytes, std::size_t bytes_per_thread) {
  const std::size_t wanted = (size_bytes + bytes_per_thread - 1) / bytes_per_thread;
  const std::size_t rounded = (wanted + 31) / 32 * 32;
  return static_cast<unsigned>(rounded > kMaxCopyThreads ? kMaxCopyThreads : rounded);
}

std::string result_text(const Device &d, const char *call, CUresult result) {
  return result == CUDA_SUCCESS ? std::string() : native_text(d.driver, call, result);
}

std::string enqueue(Device &d, void *dst, const void *src, std::size_t size) {
  return result_text(d, "cuMemcpyAsync", d.driver.cuMemcpyAsync(address(dst), address(src), size, d.stream));
}

std::string write_flag(Device &d) {
  if (d.driver.cuStreamWriteValue64 == nullptr) return "no cuStreamWriteValue64";
  return result_text(d, "cuStreamWriteValue64",
                     d.driver.cuStreamWriteValue64(d.stream, address(const_cast<std::uint64_t *>(d.flag)), ++d.sequence,
                                                   CU_STREAM_WRITE_VALUE_DEFAULT));
}

std::string wait_flag(Device &d) {
  return poll_flag(d, d.sequence) ? std::string() : "the flag never came";
}

std::string launch(Device &d, CUfunction function, unsigned blocks, unsigned threads, void **arguments) {
  return result_text(d, "cuLaunchKernel",
                     d.driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, d.stream, arguments, nullptr));
}

// ---- the driver's blocking calls ----

std::string sync_down(Device &d, void *dst, const void *src, std::size_t size) {
  return result_text(d, "cuMemcpyDtoH", d.driver.cuMemcpyDtoH(dst, address(src), size));
}

std::string sync_up(Device &d, void *dst, const void *src, std::size_t size) {
  return result_text(d, "cuMemcpyHtoD", d.driver.cuMemcpyHtoD(address(dst), src, size));
}

// ---- one asynchronous copy, different ways to see its end ----

std::string async_sync(Device &d, void *dst, const void *src, std::size_t size) {
  std::string why = enqueue(d, dst, src, size);
  return !why.empty() ? why : result_text(d, "cuStreamSynchronize", d.driver.cuStreamSynchronize(d.stream));
}

std::string async_query(Device &d, void *dst, const void *src, std::size_t size) {
  std::string why = enqueue(d, dst, src, size);
  if (!why.empty()) return why;
  CUresult result = CUDA_ERROR_NOT_READY;
  while (result == CUDA_ERROR_NOT_READY) result = d.driver.cuStreamQuery(d.stream);
  return result_text(d, "cuStreamQuery", result);
}

std::string async_event(Device &d, void *dst, const void *src, std::size_t size) {
  std::string why = enqueue(d, dst, src, size);
  if (why.empty()) why = result_text(d, "cuEventRecord", d.driver.cuEventRecord(d.event, d.stream));
  return !why.empty() ? why : result_text(d, "cuEventSynchronize", d.driver.cuEventSynchronize(d.event));
}

std::string async_event_query(Device &d, void *dst, const void *src, std::size_t size) {
  std::string why = enqueue(d, dst, src, size);
  if (why.empty()) why = result_text(d, "cuEventRecord", d.driver.cuEventRecord(d.event, d.stream));
  if (!why.empty()) return why;
  CUresult result = CUDA_ERROR_NOT_READY;
  while (result == CUDA_ERROR_NOT_READY) result = d.driver.cuEventQuery(d.event);
  return result_text(d, "cuEventQuery", result);
}

std::string async_flag(Device &d, void *dst, const void *src, std::size_t size) {
  std::string why = enqueue(d, dst, src, size);
  if (why.empty()) why = write_flag(d);
  return why.empty() ? wait_flag(d) : why;
}

std::string batch_flag(Device &d, void *dst, const void *src, std::size_t size) {
  if (d.driver.cuMemcpyBatchAsync == nullptr) return "no cuMemcpyBatchAsync";
  CUdeviceptr to = address(dst);
  CUdeviceptr from = address(src);
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  std::size_t first = 0;
  std::string why = result_text(d, "cuMemcpyBatchAsync",
                                d.driver.cuMemcpyBatchAsync(&to, &from, &size, 1, &attributes, &first, 1, d.stream));
  if (why.empty()) why = write_flag(d);
  return why.empty() ? wait_flag(d) : why;
}

// ---- kernels ----

std::string kernel_flag(Device &d, void *dst, const void *src, std::size_t size) {
  std::uint64_t bytes = size;
  std::uint64_t sequence = ++d.sequence;
  volatile std::uint64_t *flag = d.flag;
  void *arguments[] = {&dst, &src, &bytes, &flag, &sequence};
  std::string why = launch(d, d.copy_and_flag, 1, threads_for(size, 16), arguments);
  return why.empty() ? wait_flag(d) : why;
}

std::string kernel_sync(Device &d, void *dst, const void *src, std::size_t size) {
  std::uint64_t bytes = size;
  std::uint64_t sequence = ++d.sequence;
  volatile std::uint64_t *flag = d.flag;
  void *arguments[] = {&dst, &src, &bytes, &flag, &sequence};
  std::string why = launch(d, d.copy_and_flag, 1, threads_for(size, 16), arguments);
  return !why.empty() ? why : result_text(d, "cuStreamSynchronize", d.driver.cuStreamSynchronize(d.stream));
}

std::string wide_kernel_flag(Device &d, void *dst, const void *src, std::size_t size) {
  if (size % 16 != 0) return "-";
  std::uint64_t bytes = size;
  void *arguments[] = {&dst, &src, &bytes};
  const std::size_t blocks = (size / 16 + kMaxCopyThreads - 1) / kMaxCopyThreads;
  std::string why =
      launch(d, d.copy_wide, static_cast<unsigned>(blocks > 64 ? 64 : blocks), kMaxCopyThreads, arguments);
  if (why.empty()) why = write_flag(d);
  return why.empty() ? wait_flag(d) : why;
}

// Reads the packets as they come; the sequence beside each word says that the word is there.
std::string unpack(Device &d, void *dst, std::size_t size) {
  const Packet *packets = d.packets;
  char *to = static_cast<char *>(dst);
  std::uint64_t spins = 0;
  for (std::size_t at = 0; at < size; at += kPacketDataBytes, ++packets) {
    while (__atomic_load_n(&packets->sequence, __ATOMIC_ACQUIRE) != d.sequence) {
      __builtin_ia32_pause();
      if (++spins > 200'000'000) return "a packet never came";
    }
    const std::uint64_t word = __atomic_load_n(&packets->data, __ATOMIC_RELAXED);
    std::memcpy(to + at, &word, size - at < 8 ? size - at : 8);
  }
  return {};
}

std::string packets(Device &d, void *dst, const void *src, std::size_t size) {
  std::uint64_t bytes = size;
  std::uint64_t sequence = ++d.sequence;
  void *arguments[] = {&d.packets, &src, &bytes, &sequence};
  std::string why = launch(d, d.send_packets, 1, threads_for(size, 8), arguments);
  return why.empty() ? unpack(d, dst, size) : why;
}

std::string inline_write(Device &d, void *dst, const void *src, std::size_t size) {
  InlineData data;
  std::memcpy(&data, src, size);
  std::uint64_t bytes = size;
  std::uint64_t sequence = ++d.sequence;
  volatile std::uint64_t *flag = d.flag;
  void *arguments[] = {&dst, &bytes, &flag, &sequence, &data};
  std::string why = launch(d, d.write_inline, 1, threads_for(size, 8), arguments);
  return why.empty() ? wait_flag(d) : why;
}

// ---- graphs: a launch that is prepared once ----

struct Graph {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
};

std::string instantiate(Device &d, Graph *g) {
  return result_text(d, "cuGraphInstantiate", d.driver.cuGraphInstantiate(&g->exec, g->graph, 0));
}

CUDA_KERNEL_NODE_PARAMS kernel_node(CUfunction function, unsigned threads, void **arguments) {
  CUDA_KERNEL_NODE_PARAMS p = {};
  p.func = function;
  p.gridDimX = p.gridDimY = p.gridDimZ = 1;
  p.blockDimX = threads;
  p.blockDimY = p.blockDimZ = 1;
  p.kernelParams = arguments;
  return p;
}

std::string kernel_graph(Device &d, Graph *g, const CUDA_KERNEL_NODE_PARAMS &params) {
  if (g->exec != nullptr) {
    return result_text(d, "cuGraphExecKernelNodeSetParams",
                       d.driver.cuGraphExecKernelNodeSetParams(g->exec, g->node, &params));
  }
  if (d.driver.cuGraphInstantiate == nullptr) return "no graphs";
  std::string why = result_text(d, "cuGraphCreate", d.driver.cuGraphCreate(&g->graph, 0));
  if (why.empty()) {
    why =
        result_text(d, "cuGraphAddKernelNode", d.driver.cuGraphAddKernelNode(&g->node, g->graph, nullptr, 0, &params));
  }
  return why.empty() ? instantiate(d, g) : why;
}

std::string graph_launch(Device &d, const Graph &g) {
  return result_text(d, "cuGraphLaunch", d.driver.cuGraphLaunch(g.exec, d.stream));
}

std::string graph_packets(Device &d, void *dst, const void *src, std::size_t size) {
  static Graph graph;
  std::uint64_t bytes = size;
  std::uint64_t sequence = ++d.sequence;
  void *arguments[] = {&d.packets, &src, &bytes, &sequence};
  std::string why = kernel_graph(d, &graph, kernel_node(d.send_packets, threads_for(size, 8), arguments));
  if (why.empty()) why = graph_launch(d, graph);
  return why.empty() ? unpack(d, dst, size) : why;
}

// The graph never changes: what to copy is read from mapped memory. One graph for each block size.
std::string graph_ordered_packets(Device &d, void *dst, const void *src, std::size_t size) {
  static Graph graphs[kMaxCopyThreads / 32 + 1];
  const unsigned threads = threads_for(size, 8);
  Graph &graph = graphs[threads / 32];
  *d.order = CopyOrder{src, size, ++d.sequence, 0};
  if (graph.exec == nullptr) {
    void *arguments[] = {&d.packets, &d.order};
    std::string why = kernel_graph(d, &graph, kernel_node(d.send_ordered_packets, threads, arguments));
    if (!why.empty()) return why;
  }
  std::string why = graph_launch(d, graph);
  return why.empty() ? unpack(d, dst, size) : why;
}

std::string graph_inline(Device &d, void *dst, const void *src, std::size_t size) {
  static Graph graph;
  InlineData data;
  std::memcpy(&data, src, size);
  std::uint64_t bytes = size;
  std::uint64_t sequence = ++d.sequence;
  volatile std::uint64_t *flag = d.flag;
  void *arguments[] = {&dst, &bytes, &flag, &sequence, &data};
  std::string why = kernel_graph(d, &graph, kernel_node(d.write_inline, threads_for(size, 8), arguments));
  if (why.empty()) why = graph_launch(d, graph);
  return why.empty() ? wait_flag(d) : why;
}

std::string graph_kernel_flag(Device &d, void *dst, const void *src, std::size_t size) {
  static Graph graph;
  std::uint64_t bytes = size;
  std::uint64_t sequence = ++d.sequence;
  volatile std::uint64_t *flag = d.flag;
  void *arguments[] = {&dst, &src, &bytes, &flag, &sequence};
  std::string why = kernel_graph(d, &graph, kernel_node(d.copy_and_flag, threads_for(size, 16), arguments));
  if (why.empty()) why = graph_launch(d, graph);
  return why.empty() ? wait_flag(d) : why;
}

std::string graph_memcpy(Device &d, bool down, void *dst, const void *src, std::size_t size) {
  static Graph graphs[2];
  Graph &g = graphs[down ? 1 : 0];
  CUDA_MEMCPY3D p = {};
  p.srcMemoryType = down ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  p.dstMemoryType = down ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  p.srcDevice = address(src);
  p.srcHost = src;
  p.dstDevice = address(dst);
  p.dstHost = dst;
  p.WidthInBytes = size;
  p.Height = p.Depth = 1;
  std::string why;
  if (g.exec == nullptr) {
    if (d.driver.cuGraphInstantiate == nullptr) return "no graphs";
    why = result_text(d, "cuGraphCreate", d.driver.cuGraphCreate(&g.graph, 0));
    if (why.empty()) {
      why = result_text(d, "cuGraphAddMemcpyNode",
                        d.driver.cuGraphAddMemcpyNode(&g.node, g.graph, nullptr, 0, &p, d.context));
    }
    if (why.empty()) why = instantiate(d, &g);
  } else {
    why = result_text(d, "cuGraphExecMemcpyNodeSetParams",
                      d.driver.cuGraphExecMemcpyNodeSetParams(g.exec, g.node, &p, d.context));
  }
  if (why.empty()) why = graph_launch(d, g);
  if (why.empty()) why = write_flag(d);
  return why.empty() ? wait_flag(d) : why;
}

std::string graph_memcpy_down(Device &d, void *dst, const void *src, std::size_t size) {
  return graph_memcpy(d, true, dst, src, size);
}

std::string graph_memcpy_up(Device &d, void *dst, const void *src, std::size_t size) {
  return graph_memcpy(d, false, dst, src, size);
}

// ---- data as stream memory operations ----

std::string memory_operations(Device &d, void *dst, const void *src, std::size_t size) {
  if (d.driver.cuStreamBatchMemOp == nullptr) return "no cuStreamBatchMemOp";
  if (size % 8 != 0) return "-";
  CUstreamBatchMemOpParams ops[kMaxMemOps + 1];
  const auto n = static_cast<unsigned>(size / 8);
  for (unsigned i = 0; i <= n; ++i) {
    auto &op = ops[i].writeValue;
    op.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    op.address = i < n ? address(dst) + std::size_t{8} * i : address(const_cast<std::uint64_t *>(d.flag));
    if (i < n) {
      std::memcpy(&op.value64, static_cast<const char *>(src) + std::size_t{8} * i, 8);
    } else {
      op.value64 = ++d.sequence;
    }
    op.flags = CU_STREAM_WRITE_VALUE_DEFAULT;  // the other one is refused by this version of the call
  }
  std::string why = result_text(d, "cuStreamBatchMemOp", d.driver.cuStreamBatchMemOp(d.stream, n + 1, ops, 0));
  return why.empty() ? wait_flag(d) : why;
}

std::string flag_alone(Device &d, void * /*dst*/, const void * /*src*/, std::size_t /*size*/) {
  std::string why = write_flag(d);
  return why.empty() ? wait_flag(d) : why;
}

constexpr auto kDown = Direction::kDeviceToHost;
constexpr auto kUp = Direction::kHostToDevice;
constexpr auto kPageable = HostMemory::kPageable;
constexpr auto kPinned = HostMemory::kPinned;
constexpr auto kRegistered = HostMemory::kRegistered;
constexpr std::size_t kKernelBytes = 32768;
constexpr std::size_t kPacketBytes = kMaxPackets * kPacketDataBytes;

constexpr Variant kVariants[] = {
    {"blocking call, pageable", kDown, kPageable, kMaxBytes, sync_down},
    {"blocking call, pinned", kDown, kPinned, kMaxBytes, sync_down},
    {"blocking call, registered", kDown, kRegistered, kMaxBytes, sync_down},
    {"async + stream synchronize", kDown, kPinned, kMaxBytes, async_sync},
    {"async + stream query", kDown, kPinned, kMaxBytes, async_query},
    {"async + event synchronize", kDown, kPinned, kMaxBytes, async_event},
    {"async + event query", kDown, kPinned, kMaxBytes, async_event_query},
    {"async + flag", kDown, kPinned, kMaxBytes, async_flag},
    {"async + flag, registered", kDown, kRegistered, kMaxBytes, async_flag},
    {"batch of one + flag", kDown, kPinned, kMaxBytes, batch_flag},
    {"kernel + stream synchronize", kDown, kPinned, kKernelBytes, kernel_sync},
    {"kernel with flag", kDown, kPinned, kKernelBytes, kernel_flag},
    {"wide kernel + flag", kDown, kPinned, kMaxBytes, wide_kernel_flag},
    {"packets", kDown, kPageable, kPacketBytes, packets},
    {"graph memcpy + flag", kDown, kPinned, kMaxBytes, graph_memcpy_down},
    {"graph kernel with flag", kDown, kPinned, kKernelBytes, graph_kernel_flag},
    {"graph packets", kDown, kPageable, kPacketBytes, graph_packets},
    {"graph packets, fixed launch", kDown, kPageable, kPacketBytes, graph_ordered_packets},
    {"blocking call, pageable", kUp, kPageable, kMaxBytes, sync_up},
    {"blocking call, pinned", kUp, kPinned, kMaxBytes, sync_up},
    {"async + stream synchronize", kUp, kPinned, kMaxBytes, async_sync},
    {"async + stream synchronize, pageable", kUp, kPageable, kMaxBytes, async_sync},
    {"async + flag", kUp, kPinned, kMaxBytes, async_flag},
    {"async + flag, registered", kUp, kRegistered, kMaxBytes, async_flag},
    {"async + flag, pageable", kUp, kPageable, kMaxBytes, async_flag},
    {"batch of one + flag", kUp, kPinned, kMaxBytes, batch_flag},
    {"kernel with flag", kUp, kPinned, kKernelBytes, kernel_flag},
    {"wide kernel + flag", kUp, kPinned, kMaxBytes, wide_kernel_flag},
    {"data in the launch", kUp, kPageable, kMaxInlineBytes, inline_write},
    {"graph memcpy + flag", kUp, kPinned, kMaxBytes, graph_memcpy_up},
    {"graph kernel with flag", kUp, kPinned, kKernelBytes, graph_kernel_flag},
    {"graph, data in the launch", kUp, kPageable, kMaxInlineBytes, graph_inline},
    {"memory operations", kUp, kPageable, kMaxMemOps * 8, memory_operations},
    {"flag alone (no data)", kUp, kPageable, 0, flag_alone},
};

}  // namespace

std::span<const Variant> variants() {
  return kVariants;
}

}  // namespace sluice::backends::cuda::bench
