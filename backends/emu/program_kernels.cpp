// SPDX-License-Identifier: BSD-3-Clause
// Kernels of a program's own: C++ functions that the device's queues run.
#include "sluice/testing/program_kernels.h"

#include <cstring>

#include "module.h"

namespace sluice::backends::emu {
namespace {

// The arguments of a launch, which the queue keeps.
struct Launch {
  void (*body)(const void *task, uint64_t n_items);
  uint64_t n_items;
  uint32_t n_memory;
  uint64_t task[SLUICE_PROGRAM_KERNEL_MOST_WORDS];
};

// The device's memory is elsewhere for its kernels than for the host.
void run(const void *arguments, void *const *memory) {
  Launch launch;
  std::memcpy(&launch, arguments, sizeof(launch));
  for (uint32_t k = 0; k < launch.n_memory; ++k) launch.task[k] = reinterpret_cast<uintptr_t>(memory[k]);
  launch.body(launch.task, launch.n_items);
}

sluice_result_t launch(void *native, const sluice_program_kernel_t *kernel, uint64_t n_items, const uint64_t *task,
                       const uint64_t *size_bytes) {
  if (kernel->n_words > SLUICE_PROGRAM_KERNEL_MOST_WORDS || kernel->n_memory > kernel->n_words) {
    return fail(SLUICE_ERROR_INVALID_ARGUMENT,
                "launch: the kernel's task has too many words, or too few for its memory");
  }
  Launch arguments{kernel->body, n_items, kernel->n_memory, {}};
  std::memcpy(arguments.task, task, kernel->n_words * sizeof(*task));
  emu_range_t ranges[SLUICE_PROGRAM_KERNEL_MOST_WORDS];
  for (uint32_t k = 0; k < kernel->n_memory; ++k) ranges[k] = {reinterpret_cast<const void *>(task[k]), size_bytes[k]};
  return translate(emu_launch_async(static_cast<emu_queue_t *>(native), run, &arguments, sizeof(arguments), ranges,
                                    kernel->n_written, kernel->n_memory));
}

sluice_result_t graph_begin(void *native) {
  return translate(emu_queue_begin_capture(static_cast<emu_queue_t *>(native)));
}

sluice_result_t graph_end(void *native, void **graph) {
  emu_graph_t *made = nullptr;
  const sluice_result_t result = translate(emu_queue_end_capture(static_cast<emu_queue_t *>(native), &made));
  if (result == SLUICE_SUCCESS) *graph = made;
  return result;
}

sluice_result_t graph_launch(void *graph, void *native) {
  return translate(emu_graph_launch(static_cast<emu_graph_t *>(graph), static_cast<emu_queue_t *>(native)));
}

sluice_result_t graph_destroy(void *graph) {
  return translate(emu_graph_destroy(static_cast<emu_graph_t *>(graph)));
}

}  // namespace
}  // namespace sluice::backends::emu

#define SLUICE_MODULE_NAMESPACE emu
#include "../exported_program_kernels.inc"
