// SPDX-License-Identifier: BSD-3-Clause
// What the files with the C functions share.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "emurt.h"
#include "runtime/error.h"
#include "runtime/runtime.h"

namespace emurt {

// Runs body(Runtime &) -> emu_result_t in a started runtime. No exception leaves: lack of the runtime's own memory
// becomes EMU_ERROR_OUT_OF_MEMORY, anything else EMU_ERROR_SYSTEM.
template <typename Body>
emu_result_t in_runtime(Body &&body) noexcept {
  try {
    Runtime *runtime = nullptr;
    const emu_result_t result = Runtime::enter(&runtime);
    return result == EMU_SUCCESS ? std::forward<Body>(body)(*runtime) : result;
  } catch (const std::bad_alloc &) {
    return EMU_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception &error) {
    return fail(EMU_ERROR_SYSTEM, "{}", error.what());
  }
}

// The same for a function of a queue: body(Queue &) -> emu_result_t.
template <typename Body>
emu_result_t in_queue(emu_queue_t *queue, Body &&body) noexcept {
  return in_runtime([&](Runtime &) -> emu_result_t {
    if (queue == nullptr) return fail(EMU_ERROR_INVALID_VALUE, "the queue is null");
    return std::forward<Body>(body)(*reinterpret_cast<Queue *>(queue));
  });
}

}  // namespace emurt
