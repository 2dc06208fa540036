// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark asks besides the contract: memory in use, memory looked at in place, and work.
#include "sluice/testing/probe.h"

#include <memory>
#include <vector>

#include "../memory_check.h"
#include "module.h"
#include "work.hpp"

// A queue of its own, and what the last work left there: ordinary memory, which the queue's thread reaches.
struct sluice_work {
  emu_queue_t *queue = nullptr;
  uint64_t result = 0;
};

namespace sluice::backends::emu {
namespace {

// Of the emulated device's memory, of which each process has its own.
sluice_result_t memory_in_use(int32_t device, uint64_t *size_bytes) {
  return translate(emu_device_memory_in_use(device, size_bytes));
}

// The ranges of the launch are what the one item leaves, and the memory; the tables are ordinary memory, which the
// queue's thread reaches.
void run_check(const void *arguments, void *const *memory) {
  kernels::CheckTask own;
  __builtin_memcpy(&own, arguments, sizeof(own));
  own.shares = static_cast<kernels::CheckShare *>(memory[0]);
  own.memory = static_cast<const unsigned char *>(memory[1]);
  kernels::check_share(own, 0, 1);
}

sluice_result_t launch(const kernels::CheckTask &task, uint64_t memory_bytes) {
  emu_queue_t *queue = nullptr;
  sluice_result_t result = translate(emu_queue_create(&queue));
  if (result != SLUICE_SUCCESS) return result;
  const emu_range_t ranges[] = {{task.shares, sizeof(*task.shares)}, {task.memory, memory_bytes}};
  result = translate(emu_launch_async(queue, run_check, &task, sizeof(task), ranges, 1, 2));
  if (result == SLUICE_SUCCESS) result = translate(emu_queue_synchronize(queue));
  const sluice_result_t ended = translate(emu_queue_destroy(queue));
  return result != SLUICE_SUCCESS ? result : ended;
}

sluice_result_t check_memory(const sluice_memory_check_t *check, sluice_check_finding_t *finding) {
  const Outcome known = examine_check(check, finding);
  if (!known.is_success()) return fail(known.result, known.text);
  *finding = {kernels::kNothingWrong, 0};
  if (check->n_segments == 0) return SLUICE_SUCCESS;
  std::vector<uint64_t> tables(CheckTables::size_bytes(*check, 1) / sizeof(uint64_t));
  const kernels::CheckTask task = CheckTables::fill(*check, 1, tables.data());
  const sluice_result_t result = launch(task, check->size_bytes);
  if (result == SLUICE_SUCCESS) *finding = CheckTables::finding(task.shares, 1);
  return result;
}

void run_work(const void *arguments, void *const *memory) {
  kernels::WorkTask own;
  __builtin_memcpy(&own, arguments, sizeof(own));
  own.results = static_cast<uint64_t *>(memory[0]);
  kernels::work_share(own, 0, 1);
}

sluice_result_t work_create(sluice_work_t **work) {
  auto made = std::make_unique<sluice_work_t>();
  const sluice_result_t result = translate(emu_queue_create(&made->queue));
  *work = result == SLUICE_SUCCESS ? made.release() : nullptr;
  return result;
}

// The emulated device computes in its queue's thread: on a core of the host.
sluice_result_t work_enqueue(sluice_work_t *work, uint64_t n_steps) {
  const kernels::WorkTask task = {n_steps, &work->result};
  const emu_range_t ranges[] = {{&work->result, sizeof(work->result)}};
  return translate(emu_launch_async(work->queue, run_work, &task, sizeof(task), ranges, 1, 1));
}

sluice_result_t work_wait(sluice_work_t *work, uint64_t *result) {
  const sluice_result_t ended = translate(emu_queue_synchronize(work->queue));
  if (ended == SLUICE_SUCCESS && result != nullptr) *result = work->result;
  return ended;
}

sluice_result_t work_destroy(sluice_work_t *work) {
  const std::unique_ptr<sluice_work_t> owned(work);
  return translate(emu_queue_destroy(owned->queue));
}

}  // namespace
}  // namespace sluice::backends::emu

#define SLUICE_MODULE_NAMESPACE emu
#include "../exported_probe.inc"
