// SPDX-License-Identifier: BSD-3-Clause
// One copy or kernel from its addresses to its bytes: check, faults, time of the imitated machine, and the work itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emurt.h"
#include "runtime/fault_plan.h"
#include "runtime/machine.h"
#include "runtime/memory_table.h"
#include "runtime/registered_memory.h"

namespace emurt {

struct CheckedCopy {
  Endpoint dst;
  Endpoint src;
  size_t size_bytes = 0;  // at least 1
};

// A kernel with its arguments, and what it reaches; the 0th range is written.
struct CheckedLaunch {
  struct Range {
    Endpoint memory;
    size_t size_bytes = 0;  // at least 1
  };
  emu_kernel_t kernel = nullptr;
  std::vector<std::byte> arguments;
  std::vector<Range> ranges;
  size_t n_written = 0;  // of the ranges, the first
};

// A command on a word: stores `value`, or waits until the word is at least that.
struct CheckedWord {
  Endpoint memory;
  uint64_t value = 0;
  bool is_wait = false;
};

enum class CopyOrigin { kProgram, kQueue };

class CopyEngine {
 public:
  CopyEngine(MemoryTable &memory, FaultPlan &faults, Machine &machine)
      : memory_(memory), faults_(faults), machine_(machine) {}

  // Finds out what the addresses are. Copies of no bytes leave nothing in `checked`.
  // EMU_ERROR_INVALID_POINTER, EMU_ERROR_INVALID_VALUE: nothing of the batch may be run.
  emu_result_t check(const emu_copy_t *copies, size_t n_copies, std::vector<CheckedCopy> *checked);

  // Runs the copies of one batch; blocks until they are done. After a copy that failed the others still run; the first
  // failure is the answer, and this thread's last error text.
  emu_result_t run(const std::vector<CheckedCopy> &copies, CopyOrigin origin);

  // launch.cpp. The same for a kernel.
  emu_result_t check_launch(std::span<const emu_range_t> ranges, size_t n_written, CheckedLaunch *launch);
  emu_result_t run_launch(const CheckedLaunch &launch);

  // word_commands.cpp. The same for a command on a word, of which the memory is checked; a wait ends when `is_stopping`
  // is set, too.
  emu_result_t check_word(const uint64_t *word, CheckedWord *checked);
  // What take() may copy out of: host memory must be the runtime's own, or registered.
  emu_result_t check_units(const CheckedLaunch::Range &units);
  emu_result_t run_word(const CheckedWord &word, const std::atomic<bool> &is_stopping);

  Machine &machine() { return machine_; }
  // By how much a command begins late, where that is a fault in force.
  auto delay() { return faults_.delay(); }
  RegisteredMemory &registered() { return registered_; }

 private:
  emu_result_t run_one(const CheckedCopy &copy, CopyOrigin origin, bool is_first);
  bool fails(CopyOrigin origin, emu_result_t *result);
  // Whether one of two silent faults strikes: `any` counts all copies, `queued` those of data through a queue.
  bool strikes(FaultPoint any, FaultPoint queued, bool is_queued_data);
  emu_result_t move_bytes(const CheckedCopy &copy, bool with_flip, bool is_lost);

  MemoryTable &memory_;
  FaultPlan &faults_;
  Machine &machine_;
  RegisteredMemory registered_;
};

}  // namespace emurt
