// SPDX-License-Identifier: BSD-3-Clause
// The bodies of two kernels that stand for a stream's memory operations on several words (arXiv 2208.04817, section
// V.F): one writes them, one waits for them. A work-item for each word.
#pragma once

#include "message.hpp"

namespace sluice::kernels {

inline constexpr unsigned kMostSignals = kMostMessages;

struct Signal {
  std::uint64_t *word;
  std::uint64_t value;
};
struct SignalList {
  Signal signals[kMostSignals];  // NOLINT(modernize-avoid-c-arrays): handed to devices as plain bytes
  std::uint64_t n_signals;       // 1 to kMostSignals
};

// What the stream did before is there for whoever sees one of the values. The words are set in any order.
SLUICE_KERNELS_FUNCTION void trigger_share(const SignalList &list, std::uint64_t item, std::uint64_t n_items) {
  if (item >= list.n_signals) return;
  SLUICE_KERNELS_SYSTEM_FENCE();
  for (std::uint64_t k = item; k < list.n_signals; k += n_items) {
    SLUICE_KERNELS_SET(list.signals[k].word, list.signals[k].value);
  }
}

// Whether the wait for one of them is over. For whoever runs the items by turns.
SLUICE_KERNELS_FUNCTION bool has_come(const Signal &signal) {
  return SLUICE_KERNELS_LOOK(signal.word) >= signal.value;
}

// What was done before the words came to their values is there for what follows in the stream.
SLUICE_KERNELS_FUNCTION void await_share(const SignalList &list, std::uint64_t item, std::uint64_t n_items) {
  if (item >= list.n_signals) return;
  for (std::uint64_t k = item; k < list.n_signals; k += n_items) {
    while (!has_come(list.signals[k])) SLUICE_KERNELS_PAUSE();
  }
  SLUICE_KERNELS_SYSTEM_FENCE();
}

}  // namespace sluice::kernels
