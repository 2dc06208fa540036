// SPDX-License-Identifier: BSD-3-Clause
// A Level Zero loader whose device memory is host memory of memory files: as much of it as the module uses, and what a
// test sets and counts. It examines the module's logic where there is no device of Level Zero.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace loopback {

// Which of the handles that were seen with drivers it makes.
enum class HandleForm : uint32_t {
  kDescriptor = 0,    // a descriptor that zeMemPutIpcHandle takes back
  kFreshDescriptors,  // a new one for each question, which the caller closes
  kKeptDescriptor,    // one for each allocation, closed with the memory
  kProcess,           // a descriptor and the process that made it, from which the driver takes it
};

// The module's threads look at it too.
struct State {
  std::atomic<HandleForm> form;
  std::atomic<int32_t> get_fault;   // what zeMemGetIpcHandle gives from now on; 0: none
  std::atomic<int32_t> open_fault;  // the same of zeMemOpenIpcHandle
  std::atomic<bool> opens_half;     // as a device of two tiles does
  std::atomic<int> n_gets;
  std::atomic<int> n_puts;
  std::atomic<int> n_opens;
  std::atomic<int> n_closes;

  // Lists of copies. Faults are what the call gives from now on; 0: none.
  std::atomic<int32_t> groups_fault;   // zeDeviceGetCommandQueueGroupProperties
  std::atomic<int32_t> queue_fault;    // zeCommandQueueCreate
  std::atomic<int32_t> list_fault;     // zeCommandListCreate
  std::atomic<int32_t> fence_fault;    // zeFenceCreate
  std::atomic<int32_t> append_fault;   // zeCommandListAppendMemoryCopy, from the third of a list on
  std::atomic<int32_t> close_fault;    // zeCommandListClose
  std::atomic<int32_t> execute_fault;  // zeCommandQueueExecuteCommandLists
  std::atomic<int32_t> wait_fault;     // zeFenceQueryStatus and zeFenceHostSynchronize
  std::atomic<int32_t> reset_fault;    // zeCommandListReset
  std::atomic<bool> drops_last;        // the last copy of each list is not made
  std::atomic<bool> ignores_barriers;
  std::atomic<int> n_queues;  // that there are
  std::atomic<int> n_lists;
  std::atomic<int> n_fences;
  std::atomic<int> n_executed;         // lists that were given to a queue
  std::atomic<int> n_misuses;          // calls that were refused because of what they were given
  std::atomic<uint32_t> last_ordinal;  // of the group of the queue that was made last
};

}  // namespace loopback

extern "C" {
loopback::State *loopback_state();
// That form, no faults, and counts from 0.
void loopback_reset(loopback::HandleForm form);
// `context` is any pointer. A new allocation takes `wanted` when that is free; null: any place. Null when there is
// none.
void *loopback_alloc(void *context, size_t size_bytes, void *wanted);
void loopback_free(void *memory);
// Lists that are held are not executed; somebody who waits for a fence ends that.
void loopback_hold_lists(bool holds);
// Returns when no list is in flight.
void loopback_wait_lists();
}
