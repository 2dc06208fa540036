// SPDX-License-Identifier: BSD-3-Clause
// Checks and runs kernels.
#include <algorithm>
#include <deque>

#include "runtime/copy_engine.h"
#include "runtime/error.h"
#include "runtime/memory_use.h"

namespace emurt {
namespace {

constexpr std::byte kFlippedBit{0x10};

}  // namespace

emu_result_t CopyEngine::check_launch(std::span<const emu_range_t> ranges, size_t n_written, CheckedLaunch *launch) {
  if (ranges.data() == nullptr || n_written == 0 || n_written > ranges.size()) {
    return fail(EMU_ERROR_INVALID_VALUE, "a kernel with {} ranges of memory, of which it writes {}", ranges.size(),
                n_written);
  }
  launch->n_written = n_written;
  for (size_t k = 0; k < ranges.size(); ++k) {
    if (ranges[k].address == nullptr || ranges[k].size_bytes == 0) {
      return fail(EMU_ERROR_INVALID_VALUE, "range {} of a kernel: {} bytes at {}", k, ranges[k].size_bytes,
                  ranges[k].address);
    }
    CheckedLaunch::Range known;
    known.size_bytes = ranges[k].size_bytes;
    const emu_result_t result = memory_.resolve(ranges[k].address, ranges[k].size_bytes, &known.memory);
    if (result != EMU_SUCCESS) return result;
    uint64_t event = 0;
    if (known.memory.allocation == nullptr && faults_.strikes(FaultPoint::kKernelReach, &event)) {
      return fail(EMU_ERROR_NOT_SUPPORTED, "fault injected into {} {}", FaultPlan::name(FaultPoint::kKernelReach),
                  event);
    }
    launch->ranges.push_back(std::move(known));
  }
  return EMU_SUCCESS;
}

emu_result_t CopyEngine::run_launch(const CheckedLaunch &launch) {
  const auto delay = faults_.delay();
  if (delay.count() > 0) wait_until(Clock::now() + delay);
  uint64_t event = 0;
  if (faults_.strikes(FaultPoint::kKernel, &event)) {
    return fail(EMU_ERROR_COPY_FAILED, "fault injected into {} {}", FaultPlan::name(FaultPoint::kKernel), event);
  }
  const bool with_flip = faults_.strikes(FaultPoint::kKernelFlip, &event);
  std::deque<MemoryUse> uses;
  std::vector<void *> memory;
  Clock::time_point done_at = Clock::time_point::min();
  for (const CheckedLaunch::Range &range : launch.ranges) {
    if (!uses.emplace_back(range.memory).is_valid()) {
      return fail(EMU_ERROR_INVALID_POINTER, "kernel on {} bytes at {:#x}: memory was freed before it ran",
                  range.size_bytes, range.memory.address);
    }
    memory.push_back(reachable(range.memory));
    if (memory.size() == 1) continue;
    const Endpoint &first = launch.ranges.front().memory;
    const bool is_written = memory.size() <= launch.n_written;
    done_at = std::max(done_at, machine_.copy_done(is_written ? range.memory : first, is_written ? first : range.memory,
                                                   range.size_bytes, memory.size() == 2));
  }
  launch.kernel(launch.arguments.data(), memory.data());
  if (with_flip) static_cast<std::byte *>(memory[0])[faults_.position_in(launch.ranges[0].size_bytes)] ^= kFlippedBit;
  if (done_at != Clock::time_point::min()) wait_until(done_at);
  return EMU_SUCCESS;
}

}  // namespace emurt
