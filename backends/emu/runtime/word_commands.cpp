// SPDX-License-Identifier: BSD-3-Clause
// Checks and runs commands on words.
#include <sched.h>

#include <atomic>
#include <thread>

#include "runtime/copy_engine.h"
#include "runtime/error.h"
#include "runtime/memory_use.h"

namespace emurt {
namespace {

// Looks at a word this often before the thread sleeps between two looks.
constexpr unsigned kLooksBeforeSleep = 1000;
constexpr std::chrono::microseconds kSleep{20};

uint64_t *pointer(const CheckedWord &word) {
  return reinterpret_cast<uint64_t *>(reachable(word.memory));
}

}  // namespace

emu_result_t CopyEngine::check_word(const uint64_t *word, CheckedWord *checked) {
  if (word == nullptr || reinterpret_cast<uintptr_t>(word) % sizeof(*word) != 0) {
    return fail(EMU_ERROR_INVALID_VALUE, "a word at {}, which is not aligned to 8 bytes",
                static_cast<const void *>(word));
  }
  const emu_result_t result = memory_.resolve(word, sizeof(*word), &checked->memory);
  if (result != EMU_SUCCESS) return result;
  if (checked->memory.kind() == EMU_MEMORY_PINNED) return EMU_SUCCESS;
  const bool is_host = checked->memory.kind() == EMU_MEMORY_HOST;
  if (is_host && registered_.has(checked->memory.address, sizeof(*word))) return EMU_SUCCESS;
  return fail(EMU_ERROR_INVALID_POINTER,
              "a word at {}, which is not in memory of emu_malloc_host, nor registered with emu_host_register",
              static_cast<const void *>(word));
}

emu_result_t CopyEngine::check_units(const CheckedLaunch::Range &units) {
  if (units.memory.kind() != EMU_MEMORY_HOST || registered_.has(units.memory.address, units.size_bytes)) {
    return EMU_SUCCESS;
  }
  return fail(EMU_ERROR_INVALID_POINTER,
              "a kernel was to take {} bytes at {:#x}, host memory that emu_host_register was not given",
              units.size_bytes, units.memory.address);
}

emu_result_t CopyEngine::run_word(const CheckedWord &word, const std::atomic<bool> &is_stopping) {
  uint64_t event = 0;
  if (faults_.strikes(FaultPoint::kWord, &event)) {
    return fail(EMU_ERROR_QUEUE_FAILED, "fault injected into {} {}", FaultPlan::name(FaultPoint::kWord), event);
  }
  if (!word.is_wait) {
    const auto delay = faults_.delay();
    if (delay.count() > 0) wait_until(Clock::now() + delay);
  } else if (faults_.strikes(FaultPoint::kEarly, &event)) {
    return EMU_SUCCESS;
  }
  for (unsigned n_looks = 0;; ++n_looks) {
    {
      const MemoryUse use(word.memory);
      if (!use.is_valid())
        return fail(EMU_ERROR_INVALID_POINTER, "a word at {:#x}: freed meanwhile", word.memory.address);
      if (!word.is_wait) {
        __atomic_store_n(pointer(word), word.value, __ATOMIC_RELEASE);
        return EMU_SUCCESS;
      }
      if (__atomic_load_n(pointer(word), __ATOMIC_ACQUIRE) >= word.value) return EMU_SUCCESS;
    }
    if (is_stopping.load(std::memory_order_relaxed)) {
      return fail(EMU_ERROR_SHUT_DOWN, "a wait for a word: the process is exiting");
    }
    if (n_looks < kLooksBeforeSleep) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
}

}  // namespace emurt
