// SPDX-License-Identifier: BSD-3-Clause
// Events, and lists of commands: what both sorts of list (recorded, immediate) and the queues share.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "driver.h"

namespace sluice::emulated_driver {

// Events of a pool lie in host memory of the emulated device's runtime, whose queues wait for words and write them;
// those of a pool for several processes in a file of memory that is registered with it.
struct EventPool {
  uint64_t *words = nullptr;  // one an event
  uint32_t n_events = 0;      // places
  int32_t descriptor = -1;    // of that file
  bool is_opened = false;     // it is another process's
  std::atomic<uint32_t> n_made{0};
  bool has_timestamps = false;
  bool counts = false;  // counter-based events
};

// An event is signalled when its word is at least `due`. That is 1 for ordinary events, which are reset to 0. A
// counter-based event is never reset: each command that signals it makes another number due, and whoever waits means
// the one that is due when the wait is appended.
struct Event {
  EventPool *pool = nullptr;
  uint64_t *word = nullptr;
  std::atomic<uint64_t> due{1};
  std::atomic<uint64_t> begin_ns{0};  // of the command that signals it
  std::atomic<uint64_t> end_ns{0};

  [[nodiscard]] bool is_signalled() const noexcept { return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= due.load(); }
};

// Puts one command into a queue. Called once for an immediate list, and for a recorded one at each execution.
using Command = std::function<emu_result_t(emu_queue_t *)>;

struct CommandList {
  ze_device_handle_t device = nullptr;
  emu_queue_t *queue = nullptr;  // of an immediate list
  bool is_synchronous = false;   // an immediate list whose calls wait
  std::mutex mutex;              // of what follows, and of putting commands into the queue
  std::vector<Command> commands;
};

struct CommandQueue {
  emu_queue_t *queue = nullptr;
  bool is_synchronous = false;
  std::mutex mutex;  // of putting commands into the queue
};

// A copy of the one argument that a function in a queue was given.
template <typename T>
T argument_of(const void *arguments) noexcept {
  T argument;
  std::memcpy(static_cast<void *>(&argument), arguments, sizeof argument);
  return argument;
}
// Puts a call of function(&copy of `argument`) into a queue.
template <typename T>
emu_result_t enqueue_call(emu_queue_t *queue, emu_host_function_t function, const T &argument) noexcept {
  return emu_host_function_async(queue, function, static_cast<const void *>(&argument), sizeof argument);
}

// Puts all commands of a recorded list into a queue.
emu_result_t enqueue_all(CommandList *list, emu_queue_t *queue);

// What the specification calls the timestamps of an event.
ze_kernel_timestamp_result_t timestamps_of(const Event &event) noexcept;

// Behind the events `waits`: `command` (none: nothing), and then the signal. Immediate lists run it, others record it.
ze_result_t append(ze_command_list_handle_t list, ze_event_handle_t signal, uint32_t n_waits, ze_event_handle_t *waits,
                   Command command) noexcept;

// Waits until what is in the queue now is done; ZE_RESULT_NOT_READY after `timeout_ns`. `mutex`: of putting commands
// into it.
ze_result_t synchronize(emu_queue_t *queue, std::mutex *mutex, uint64_t timeout_ns);

// Adds the commands of kernels.cpp to those of lists.cpp.
void fill_kernel_commands(ze_command_list_dditable_t *table) noexcept;

// Of the clock that timestamps are of.
uint64_t now_ns() noexcept;

}  // namespace sluice::emulated_driver
