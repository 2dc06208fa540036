// SPDX-License-Identifier: BSD-3-Clause
// Kernels into a queue: what they may touch, how many blocks they get, and the launch.
#include "launch.h"

#include <algorithm>
#include <iterator>

#include "looks.h"

namespace sluice::backends::cuda {

namespace {

// More blocks for each processor gain nothing (docs/measurements), and take room from the program's own kernels.
constexpr unsigned kBlocksPerProcessor = 2;
// By so many a kernel reads 371 GB/s over the links of an H100, and by twice as many 372; it copies 1075 GB/s within
// the device, and holds up copy engines that both devices pull by 1 % less than twice as many do (docs/adr/0053).
constexpr unsigned kLeanBlocks = 32;
// So many keep up with engines that pull and push over the links of two H100s at once, 190 GB/s each way: an all-reduce
// of 1 GiB takes 2.89 ms so, 3.15 with 16 blocks, and beside a bare kernel of 24 / 32 / 66 / 132 blocks 2.89 / 2.95 /
// 3.08 / 3.15, because the engines wait for memory then (docs/adr/0024).
constexpr unsigned kBesideBlocks = 24;
// What a launch may have.
constexpr uint64_t kMostBlocks = (uint64_t{1} << 31U) - 1;
// From here on what a launch costs the host is nothing beside the kernel, and of graphs in a row each begins later
// behind the one before it than a kernel launched by itself does.
constexpr uint64_t kLongBytes = uint64_t{8} << 20U;
// What a thread moves at once.
constexpr uint64_t kThreadBytes = 16;
// And how often, where there are as many blocks as there is work for: what an item has under way at a time.
constexpr uint64_t kVectorsInFront = 2;

uint64_t most_blocks(const Kernel &kernel, const Work &work) {
  const uint64_t n_few = std::min(kernel.most_blocks, kernel.n_processors * kBlocksPerProcessor);
  if (work.blocks == Blocks::kResident) return kernel.most_blocks;
  if (work.blocks == Blocks::kBeside) return std::min<uint64_t>(n_few, kBesideBlocks);
  if (work.blocks == Blocks::kLean) return std::min<uint64_t>(n_few, kLeanBlocks);
  if (work.blocks == Blocks::kFew) return n_few;
  const uint64_t n_all = work.size_bytes / (kVectorsInFront * kThreadBytes * kBlockThreads) + 1;
  return std::clamp<uint64_t>(n_all, n_few, kMostBlocks);
}

}  // namespace

// One vector for each thread, until the device is full; each part gets as many blocks as the others.
unsigned blocks_for(const Kernel &kernel, const Work &work) {
  constexpr uint64_t kBlockBytes = kThreadBytes * kBlockThreads;
  const uint64_t n_wanted = std::max<uint64_t>((work.size_bytes + kBlockBytes - 1) / kBlockBytes, 1);
  const uint64_t n_most = most_blocks(kernel, work);
  const uint64_t n_most_each = std::max<uint64_t>(n_most / work.n_parts, 1);
  return static_cast<unsigned>(work.n_parts * std::min(n_wanted, n_most_each));
}

// A kernel that touches an address that is none for it takes the context with it, so each is asked for.
sluice_result_t check_reached_by(int32_t device, const void *address) {
  unsigned type = 0;
  unsigned is_managed = 0;
  int owner = -1;
  CUdeviceptr begin = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  void *values[] = {&type, &is_managed, &owner, &begin};
  const auto first = reinterpret_cast<CUdeviceptr>(address);
  const CUresult native = g_driver.cuPointerGetAttributes(std::size(attributes), attributes, values, first);
  if (native != CUDA_SUCCESS) return translate("cuPointerGetAttributes", native);
  if (type == CU_MEMORYTYPE_HOST || is_managed != 0) return SLUICE_SUCCESS;
  if (type == CU_MEMORYTYPE_DEVICE && (owner == device || is_opened(device, begin))) return SLUICE_SUCCESS;
  return fail(SLUICE_ERROR_UNSUPPORTED, type == CU_MEMORYTYPE_DEVICE
                                            ? "kernel: memory of another device of this process"
                                            : "kernel: host memory that the driver does not know");
}

sluice_result_t check_reach(const sluice_queue &queue, const void *address) {
  if (was_seen_on(queue.device, address) || is_within_opened(queue.device, queue.context_number, address)) {
    return SLUICE_SUCCESS;
  }
  return check_reached_by(queue.device, address);
}

sluice_result_t launch(sluice_queue *queue, const KernelText &text, const Work &work, void *task, size_t task_bytes) {
  sluice_result_t result = SLUICE_SUCCESS;
  if (queue->kernel_text != &text) {
    queue->kernel_text = nullptr;
    result = find_kernel(text, queue->device, &queue->kernel);
    if (result == SLUICE_SUCCESS) queue->kernel_text = &text;
  }
  if (result == SLUICE_SUCCESS) result = tickets_mark(queue);
  if (result != SLUICE_SUCCESS) return result;
  note_command(queue);
  KernelGraphs *const graphs = work.size_bytes < kLongBytes ? &queue->graphs : nullptr;
  return launch_kernel_of_queue({&text, queue->kernel.function, blocks_for(queue->kernel, work), kBlockThreads, task},
                                task_bytes, queue->end_words, graphs, queue->stream, &queue->end);
}

}  // namespace sluice::backends::cuda
