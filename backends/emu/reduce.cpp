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

// The ranges of the launch are the destination and the sources.
void run_reduction(const void *arguments, void *const *memory) {
  Arguments own;
  __builtin_memcpy(&own, arguments, sizeof(own));
  own.task.dst = static_cast<unsigned char *>(memory[0]);
  for (uint32_t k = 0; k < own.task.n_sources; ++k) {
    own.task.sources[k] = static_cast<const unsigned char *>(memory[k + 1]);
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
  std::array<emu_range_t, kernels::kMaxSources + 1> ranges = {{{reduction->dst, size_bytes}}};
  for (uint32_t k = 0; k < reduction->n_sources; ++k) ranges[k + 1] = {reduction->sources[k], size_bytes};
  return translate(emu_launch_async(reinterpret_cast<emu_queue_t *>(queue), run_reduction, &arguments,
                                    sizeof(arguments), ranges.data(), reduction->n_sources + size_t{1}));
}

}  // namespace sluice::backends::emu
