// SPDX-License-Identifier: BSD-3-Clause
// The last step of a kernel that tells the host of its end by itself: the host sees a word, and need not ask the
// runtime, which takes longer. What one work-item of each block does when all of its block are done.
#pragma once

#include "signal.hpp"

// Counts a word of the kernel's own device up by one; what it was.
#ifndef SLUICE_KERNELS_COUNT_UP
#define SLUICE_KERNELS_COUNT_UP(counter) __atomic_fetch_add(counter, 1U, __ATOMIC_ACQ_REL)
#endif

namespace sluice::kernels {

// The same bytes for one launch after the other, so that a launch that was prepared need not be changed for it.
struct EndTask {
  volatile std::uint64_t *word;  // of the host's, which counts the launches that have ended; null: nobody is told
  std::uint32_t place;           // where the blocks tell each other: no other's that runs at the same time
  std::uint32_t is_first;        // of those that count there: from 1 on
};

// In memory of the kernel's own device.
struct EndShared {
  std::uint64_t n_ended;
  std::uint32_t n_blocks;  // of this launch that are done; 0 before and behind each
};
inline constexpr unsigned kMostEnds = 256;

// What the kernel has written is there for whoever sees the word.
SLUICE_KERNELS_FUNCTION void tell_end(const EndTask &end, EndShared *shared, std::uint32_t n_blocks) {
  if (end.word == nullptr) return;
  EndShared *const own = shared + end.place;
  SLUICE_KERNELS_SYSTEM_FENCE();
  if (n_blocks > 1) {
    if (SLUICE_KERNELS_COUNT_UP(&own->n_blocks) + 1 != n_blocks) return;
    own->n_blocks = 0;
    // The other blocks' fences came before their counts, which this one has seen.
    SLUICE_KERNELS_SYSTEM_FENCE();
  }
  own->n_ended = end.is_first != 0 ? 1 : own->n_ended + 1;
  *end.word = own->n_ended;
}

}  // namespace sluice::kernels
