// SPDX-License-Identifier: BSD-3-Clause
// The bodies of two kernels that stand for a stream's memory operations (arXiv 2208.04817, section V.F): one writes a
// word, one waits for it. A single work-item does it.
#pragma once

#include <cstdint>

#ifndef SLUICE_KERNELS_FUNCTION
#define SLUICE_KERNELS_FUNCTION inline
#endif
// All memory, as all devices and the host see it.
#ifndef SLUICE_KERNELS_SYSTEM_FENCE
#define SLUICE_KERNELS_SYSTEM_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
// Between two looks at a word.
#ifndef SLUICE_KERNELS_PAUSE
#define SLUICE_KERNELS_PAUSE() static_cast<void>(0)
#endif

namespace sluice::kernels {

struct SignalTask {
  volatile std::uint64_t *word;
  std::uint64_t value;
};

// What the stream did before is there for whoever sees the value.
SLUICE_KERNELS_FUNCTION void trigger_share(const SignalTask &task, std::uint64_t item, std::uint64_t /*n_items*/) {
  if (item != 0) return;
  SLUICE_KERNELS_SYSTEM_FENCE();
  *task.word = task.value;
}

SLUICE_KERNELS_FUNCTION bool has_come(const SignalTask &task) {
  return *task.word >= task.value;
}

// What was done before the word came to the value is there for what follows in the stream.
SLUICE_KERNELS_FUNCTION void await_share(const SignalTask &task, std::uint64_t item, std::uint64_t /*n_items*/) {
  if (item != 0) return;
  while (!has_come(task)) SLUICE_KERNELS_PAUSE();
  SLUICE_KERNELS_SYSTEM_FENCE();
}

}  // namespace sluice::kernels
