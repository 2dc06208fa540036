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
  std::atomic<int32_t> pool_fault;    // what zeEventPoolCreate gives from now on; 0: none
  std::atomic<int32_t> signal_fault;  // the same of zeEventHostSignal
  std::atomic<int> n_pools;           // that there are
  std::atomic<int> n_events;          // that there are
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
// Whether an event that there is was signalled.
bool loopback_is_signalled(void *event);
}
