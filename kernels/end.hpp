// SPDX-License-Identifier: BSD-3-Clause
// The last step of a kernel that tells the host of its end by itself: the host sees a word, and need not ask the
// runtime, which takes longer. For a kernel of one block: what one of its work-items does when all are done. Several
// blocks would have to wait for what they wrote into other devices' memory, and for each other, which takes longer than
// the runtime does (docs/adr/0054).
#pragma once

#include "signal.hpp"

namespace sluice::kernels {

// The same bytes for one launch after the other, so that a launch that was prepared need not be changed for it.
struct EndTask {
  volatile std::uint64_t *word;  // of the host's, which counts the launches that have ended; null: nobody is told
  std::uint32_t place;           // where they are counted: no other's that runs at the same time
  std::uint32_t is_first;        // of those that count there: from 1 on
};
inline constexpr unsigned kMostEnds = 256;

// What the kernel has written is there for whoever sees the word. `counts` is memory of its own device.
SLUICE_KERNELS_FUNCTION void tell_end(const EndTask &end, std::uint64_t *counts) {
  std::uint64_t *const count = counts + end.place;
  SLUICE_KERNELS_SYSTEM_FENCE();
  *count = end.is_first != 0 ? 1 : *count + 1;
  *end.word = *count;
}

}  // namespace sluice::kernels
