// SPDX-License-Identifier: BSD-3-Clause
// Reductions: the bodies of kernels/, run by the queue's thread.
#include <array>

#include "../reduction.h"
#include "module.h"

namespace sluice::backends::emu {
namespace {

struct Arguments {
  kernels::Function function;
  kernels::Task task;
};

// The ranges of the launch are the destinations and then the sources.
void run_reduction(const void *arguments, void *const *memory) {
  Arguments own;
  __builtin_memcpy(&own, arguments, sizeof(own));
  for (uint32_t k = 0; k < own.task.n_dsts; ++k) own.task.dsts[k] = static_cast<unsigned char *>(memory[k]);
  for (uint32_t k = 0; k < own.task.n_sources; ++k) {
    own.task.sources[k] = static_cast<const unsigned char *>(memory[own.task.n_dsts + k]);
  }
  own.function(own.task);
}

}  // namespace

int32_t can_reduce(int32_t device, sluice_element_t element, sluice_operation_t operation) {
  return device >= 0 && device < device_count() && is_legal(element, operation) ? 1 : 0;
}

sluice_result_t enqueue_reduction(sluice_queue_t *queue, const sluice_reduction_t *reduction) {
  Arguments arguments{};
  const Outcome made = make_task(reduction, &arguments.task);
  if (!made.is_success()) return fail(made.result, made.text);
  if (arguments.task.count == 0) return SLUICE_SUCCESS;
  arguments.function = kernels::find_function(static_cast<kernels::Element>(reduction->element),
                                              static_cast<kernels::Operation>(reduction->operation));
  const size_t size_bytes = size_bytes_of(*reduction);
  std::array<emu_range_t, kernels::kMaxDsts + kernels::kMaxSources> ranges;
  size_t n_ranges = 0;
  for (uint32_t k = 0; k < reduction->n_dsts; ++k) ranges[n_ranges++] = {reduction->dsts[k], size_bytes};
  for (uint32_t k = 0; k < reduction->n_sources; ++k) ranges[n_ranges++] = {reduction->sources[k], size_bytes};
  return translate(emu_launch_async(reinterpret_cast<emu_queue_t *>(queue), run_reduction, &arguments,
                                    sizeof(arguments), ranges.data(), reduction->n_dsts, n_ranges));
}

}  // namespace sluice::backends::emu
