// SPDX-License-Identifier: BSD-3-Clause
// What every backend does with copies for a kernel before its own runtime sees them: the numbers are checked, and the
// contract's list becomes the kernel's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "copy.hpp"
#include "outcome.h"
#include "sluice/backend.h"

namespace sluice::backends {

static_assert(kernels::kMaxCopies == SLUICE_KERNEL_MAX_COPIES);
static_assert(kernels::kMaxSwapBytes == SLUICE_SWAP_MAX_BYTES);

// A task and whether it could be made.
struct MadeCopyTask {
  Outcome made;
  kernels::CopyTask task{};
};

// Of the copies that have bytes. SLUICE_ERROR_INVALID_ARGUMENT for too many and for null pointers.
inline MadeCopyTask make_copy_task(const sluice_copy_t *copies, size_t n_copies) {
  MadeCopyTask result;
  if (n_copies > kernels::kMaxCopies) {
    result.made = {SLUICE_ERROR_INVALID_ARGUMENT, std::to_string(n_copies) +
                                                      " copies for one kernel, which makes at most " +
                                                      std::to_string(kernels::kMaxCopies)};
    return result;
  }
  bool has_null = copies == nullptr && n_copies > 0;
  for (size_t k = 0; k < n_copies && !has_null; ++k) {
    if (copies[k].size_bytes == 0) continue;
    has_null = copies[k].dst == nullptr || copies[k].src == nullptr;
    result.task.copies[result.task.n_copies++] = {static_cast<unsigned char *>(copies[k].dst),
                                                  static_cast<const unsigned char *>(copies[k].src),
                                                  copies[k].size_bytes};
  }
  if (has_null) result.made = {SLUICE_ERROR_INVALID_ARGUMENT, "copies by a kernel: null pointer"};
  return result;
}

// Of an element that is compared and swapped. SLUICE_ERROR_INVALID_ARGUMENT for null pointers, no bytes and too many.
inline MadeCopyTask make_swap_task(const sluice_swap_t *swap) {
  if (swap == nullptr) return {{SLUICE_ERROR_INVALID_ARGUMENT, "compare and swap by a kernel: null pointer"}};
  if (swap->size_bytes == 0 || swap->size_bytes > kernels::kMaxSwapBytes) {
    return {{SLUICE_ERROR_INVALID_ARGUMENT, "compare and swap by a kernel: " + std::to_string(swap->size_bytes) +
                                                " bytes, and it takes 1 to " + std::to_string(kernels::kMaxSwapBytes)}};
  }
  const std::array<sluice_copy_t, 3> copies = {{{swap->before, swap->target, swap->size_bytes},
                                                {swap->target, swap->operand, swap->size_bytes},
                                                {swap->before, swap->compare, swap->size_bytes}}};
  return make_copy_task(copies.data(), copies.size());
}

// Bytes of the longest, which says how many items are of use.
inline uint64_t longest_bytes(const kernels::CopyTask &task) {
  uint64_t longest = 0;
  for (uint64_t k = 0; k < task.n_copies; ++k) longest = std::max(longest, task.copies[k].size_bytes);
  return longest;
}

}  // namespace sluice::backends
