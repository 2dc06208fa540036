// SPDX-License-Identifier: BSD-3-Clause
// Packing: the bodies of kernels/pack.hpp and kernels/rearrange.hpp, run by the queue's thread.
#include <array>

#include "../packing.h"
#include "module.h"

namespace sluice::backends::emu {
namespace {

template <typename Task>
struct Arguments {
  Task task;
  // From the origins to what the ranges begin with.
  int64_t written_lowest_bytes;
  int64_t read_lowest_bytes;
};

// The ranges of a launch are what is written, what is read, and the lists.
void run_pack(const void *arguments, void *const *memory) {
  Arguments<kernels::PackTask> own;
  __builtin_memcpy(&own, arguments, sizeof(own));
  kernels::PackTask &task = own.task;
  auto *written = static_cast<unsigned char *>(memory[0]) - own.written_lowest_bytes;
  auto *read = static_cast<unsigned char *>(memory[1]) - own.read_lowest_bytes;
  task.inside.origin = task.is_unpacking != 0 ? written : read;
  task.beside = task.is_unpacking != 0 ? read : written;
  if (task.inside.list != nullptr) {
    task.inside.list = static_cast<const int32_t *>(memory[2]);
  } else {
    task.has_long_blocks = 0;  // a list's only
  }
  kernels::pack_share(task, 0, 1);
}

void run_rearrangement(const void *arguments, void *const *memory) {
  Arguments<kernels::RearrangeTask> own;
  __builtin_memcpy(&own, arguments, sizeof(own));
  kernels::RearrangeTask &task = own.task;
  task.to.origin = static_cast<unsigned char *>(memory[0]) - own.written_lowest_bytes;
  task.from.origin = static_cast<unsigned char *>(memory[1]) - own.read_lowest_bytes;
  void *const *list = memory + 2;
  for (kernels::UnitLayout *layout : {&task.to, &task.from}) {
    if (layout->list != nullptr) layout->list = static_cast<const int32_t *>(*list++);
  }
  kernels::rearrange_share(task, 0, 1);
}

template <typename Task>
sluice_result_t enqueue_task(sluice_queue_t *queue, const sluice_pack_t &pack, const Outcome &made, const Task &task,
                             emu_kernel_t run) {
  if (!made.is_success()) return fail(made.result, made.text);
  if (task.count == 0) return SLUICE_SUCCESS;
  const PackRange inside = memory_of(pack);
  const PackRange beside = beside_of(pack);
  const int64_t inside_lowest = pack.lowest_bytes;
  const int64_t beside_lowest = static_cast<char *>(beside.address) - static_cast<char *>(pack.beside);
  const bool is_packing = pack.direction == SLUICE_PACK;
  const Arguments<Task> arguments{task, is_packing ? beside_lowest : inside_lowest,
                                  is_packing ? inside_lowest : beside_lowest};
  const PackRange &written = is_packing ? beside : inside;
  const PackRange &read = is_packing ? inside : beside;
  std::array<emu_range_t, 4> ranges = {emu_range_t{written.address, written.size_bytes},
                                       emu_range_t{read.address, read.size_bytes}};
  size_t n_ranges = 2;
  const sluice_layout_t *written_layout = is_packing ? &pack.beside_layout : &pack.layout;
  const sluice_layout_t *read_layout = is_packing ? &pack.layout : &pack.beside_layout;
  for (const sluice_layout_t *layout : {written_layout, read_layout}) {
    if (layout == &pack.beside_layout && pack.form != SLUICE_LAID_OUT) continue;
    if (layout->n_blocks != 0) ranges[n_ranges++] = emu_range_t{layout->list, layout->list_bytes};
  }
  return translate(emu_launch_async(reinterpret_cast<emu_queue_t *>(queue), run, &arguments, sizeof(arguments),
                                    ranges.data(), 1, n_ranges));
}

}  // namespace

int32_t can_pack(int32_t device) {
  return device >= 0 && device < device_count() ? 1 : 0;
}

sluice_result_t enqueue_pack(sluice_queue_t *queue, const sluice_pack_t *pack) {
  if (pack == nullptr) return fail(SLUICE_ERROR_INVALID_ARGUMENT, "pack: null pointer");
  if (has_two_layouts(pack)) {
    kernels::RearrangeTask task;
    const Outcome made = make_rearrange_task(pack, &task);
    return enqueue_task(queue, *pack, made, task, run_rearrangement);
  }
  kernels::PackTask task;
  const Outcome made = make_pack_task(pack, &task);
  return enqueue_task(queue, *pack, made, task, run_pack);
}

sluice_result_t device_alloc(int32_t device, size_t size_bytes, void **memory) {
  *memory = nullptr;
  const DeviceScope scope(device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  return translate(emu_malloc_device(size_bytes, memory));
}

sluice_result_t device_free(int32_t device, void *memory) {
  const DeviceScope scope(device);
  if (scope.result() != SLUICE_SUCCESS) return scope.result();
  return translate(emu_free(memory));
}

}  // namespace sluice::backends::emu
