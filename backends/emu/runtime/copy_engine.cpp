// SPDX-License-Identifier: BSD-3-Clause
// Checks and runs copies.
#include "runtime/copy_engine.h"

#include <cstring>

#include "runtime/error.h"
#include "runtime/memory_use.h"

namespace emurt {
namespace {

constexpr std::byte kFlippedBit{0x10};

}  // namespace

emu_result_t CopyEngine::check(const emu_copy_t *copies, size_t n_copies, std::vector<CheckedCopy> *checked) {
  if (copies == nullptr && n_copies > 0) {
    return fail(EMU_ERROR_INVALID_VALUE, "{} copies, but the pointer to them is null", n_copies);
  }
  checked->reserve(n_copies);
  for (size_t i = 0; i < n_copies; ++i) {
    const emu_copy_t &copy = copies[i];
    if (copy.size_bytes == 0) continue;
    if (copy.dst == nullptr || copy.src == nullptr) {
      return fail(EMU_ERROR_INVALID_VALUE, "copy of {} bytes from {} to {}: null pointer", copy.size_bytes, copy.src,
                  copy.dst);
    }
    CheckedCopy known;
    known.size_bytes = copy.size_bytes;
    emu_result_t result = memory_.resolve(copy.dst, copy.size_bytes, &known.dst);
    if (result == EMU_SUCCESS) result = memory_.resolve(copy.src, copy.size_bytes, &known.src);
    if (result != EMU_SUCCESS) return result;
    checked->push_back(std::move(known));
  }
  return EMU_SUCCESS;
}

emu_result_t CopyEngine::run(const std::vector<CheckedCopy> &copies, CopyOrigin origin) {
  emu_result_t first_failure = EMU_SUCCESS;
  std::string text;
  std::vector<size_t> order;
  if (copies.size() > 1) order.resize(copies.size());
  const bool is_reordered = copies.size() > 1 && faults_.reorder(&order);
  for (size_t i = 0; i < copies.size(); ++i) {
    const emu_result_t result = run_one(copies[is_reordered ? order[i] : i], origin, i == 0);
    if (result != EMU_SUCCESS && first_failure == EMU_SUCCESS) {
      first_failure = result;
      text = last_error();
    }
  }
  return first_failure == EMU_SUCCESS ? EMU_SUCCESS : fail_with_text(first_failure, text);
}

emu_result_t CopyEngine::run_one(const CheckedCopy &copy, CopyOrigin origin, bool is_first) {
  const auto delay = faults_.delay();
  if (delay.count() > 0) wait_until(Clock::now() + delay);
  emu_result_t result = EMU_SUCCESS;
  if (fails(origin, &result)) return result;
  // What a queue copies out of plain host memory may be a kernel's list of blocks: spoiling that ends the program.
  const bool is_queued_data = origin == CopyOrigin::kQueue && copy.src.kind() != EMU_MEMORY_HOST;
  const bool with_flip = strikes(FaultPoint::kFlip, FaultPoint::kQueueFlip, is_queued_data);
  const bool is_lost = strikes(FaultPoint::kLose, FaultPoint::kQueueLose, is_queued_data);
  const Clock::time_point done_at = machine_.copy_done(copy.dst, copy.src, copy.size_bytes, is_first);
  result = move_bytes(copy, with_flip, is_lost);
  if (done_at != Clock::time_point::min()) wait_until(done_at);
  return result;
}

bool CopyEngine::fails(CopyOrigin origin, emu_result_t *result) {
  // Both counters move for a copy through a queue, whatever the first says.
  uint64_t event = 0;
  uint64_t queue_event = 0;
  const bool strikes_any = faults_.strikes(FaultPoint::kCopy, &event);
  const bool strikes_queue = origin == CopyOrigin::kQueue && faults_.strikes(FaultPoint::kQueueCopy, &queue_event);
  if (!strikes_any && !strikes_queue) return false;
  const FaultPoint point = strikes_any ? FaultPoint::kCopy : FaultPoint::kQueueCopy;
  *result = fail(EMU_ERROR_COPY_FAILED, "fault injected into {} {}", FaultPlan::name(point),
                 strikes_any ? event : queue_event);
  return true;
}

bool CopyEngine::strikes(FaultPoint any, FaultPoint queued, bool is_queued_data) {
  uint64_t event = 0;
  const bool strikes_any = faults_.strikes(any, &event);
  const bool strikes_queue = is_queued_data && faults_.strikes(queued, &event);
  return strikes_any || strikes_queue;
}

emu_result_t CopyEngine::move_bytes(const CheckedCopy &copy, bool with_flip, bool is_lost) {
  const MemoryUse dst_use(copy.dst);
  const MemoryUse src_use(copy.src);
  if (!dst_use.is_valid() || !src_use.is_valid()) {
    return fail(EMU_ERROR_INVALID_POINTER, "copy of {} bytes from {:#x} to {:#x}: memory was freed before it ran",
                copy.size_bytes, copy.src.address, copy.dst.address);
  }
  if (is_lost) return EMU_SUCCESS;
  std::byte *dst = reachable(copy.dst);
  // Two views of one memory may overlap only within one allocation, where both ends go through the same view.
  std::memmove(dst, reachable(copy.src), copy.size_bytes);
  if (with_flip) dst[faults_.position_in(copy.size_bytes)] ^= kFlippedBit;
  return EMU_SUCCESS;
}

}  // namespace emurt
