// SPDX-License-Identifier: BSD-3-Clause
// What the files of this module share. Functions named as members of sluice_backend_t are those members; their contract
// is include/sluice/backend.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../members.h"
#include "../module_state.h"
#include "driver.h"
#include "sluice/backend.h"
#include "sluice/testing/probe.h"

namespace sluice::backends::cuda {

// How the end of a copy is seen: by a word that the stream writes, or by an event where the driver writes none.
enum class CopyMode { kFlag, kEvent };

// The driver's functions; valid after init().
extern Driver g_driver;
// From how many copies on they go in one command (docs/adr/0023).
inline constexpr size_t kBatchFrom = 2;

// The ways to other processes that the knob SLUICE_CUDA_IPC leaves.
struct IpcChoice {
  bool driver = true;
  bool fabric = true;
  bool descriptor = true;
};
extern IpcChoice g_ipc_choice;

// What the program need not wait for itself before it hands device memory over (the knob SLUICE_CUDA_SYNC).
enum class SyncMode { kNone, kDefault, kDevice };
extern SyncMode g_sync_mode;

// How the module's own kernels are launched (the knob SLUICE_CUDA_LAUNCH).
enum class Launches { kKernel, kGraph };
extern Launches g_launches;

// What triggers and waits (the knob SLUICE_CUDA_STREAMS): the driver's operations, kernels, or (auto) the driver's
// operations trigger, and kernels wait where this process has the device to itself. kNone: streams are not taken.
enum class Signals { kAuto, kMemory, kKernels, kNone };
extern Signals g_signals;

// What program_alloc makes device memory of (SLUICE_BENCH_CUDA_MEMORY, a variable of tests and benchmarks).
enum class ProgramMemory { kPlain, kPieces, kFabricPieces, kPrivatePieces, kPool };
extern ProgramMemory g_program_memory;

// The library that carries messages for programs (SLUICE_BENCH_NCCL, a variable of benchmarks and applications).
extern std::string g_nccl;

// ---- module.cpp: errors ----

// What a driver's answer means to Sluice; keeps "call: native text" for last_error() when it is an error.
sluice_result_t translate(const char *call, CUresult native);

// ---- contexts.cpp ----

// SLUICE_SUCCESS for 0 <= device < device_count(), else SLUICE_ERROR_NO_DEVICE with a text.
sluice_result_t check_device(int32_t device);

// The context in which the program uses `device`: its primary context when that is active, else the thread's current
// one if it is the device's, else the one that memory of the device was last seen in. Creates none: without any,
// SLUICE_ERROR_NO_DEVICE and a text that says what to do. *is_retained: the primary context was retained, and
// release_context() gives it back.
sluice_result_t find_context(int32_t device, CUcontext *context, bool *is_retained);
void release_context(int32_t device, bool is_retained);

// Remembers that memory of `device` was seen in `context`. Lock-free.
void remember_context(int32_t device, CUcontext context);
bool is_context_known(int32_t device);

// Makes a context current for a scope, and lets the scope's calls pass while the program captures a stream. Both are as
// before afterwards.
class ContextScope {
 public:
  explicit ContextScope(CUcontext context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  // SLUICE_SUCCESS, or why the context cannot be made current.
  sluice_result_t result() const { return result_; }

 private:
  bool is_pushed_ = false;
  CUstreamCaptureMode capture_mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  sluice_result_t result_ = SLUICE_SUCCESS;
};

// What `call` answers in the context of find_context(), or what that answers when there is none.
template <typename Call>
sluice_result_t in_context_of(int32_t device, Call call) {
  CUcontext context = nullptr;
  bool is_retained = false;
  sluice_result_t result = find_context(device, &context, &is_retained);
  if (result != SLUICE_SUCCESS) return result;
  {
    const ContextScope scope(context);
    result = scope.result();
    if (result == SLUICE_SUCCESS) result = call();
  }
  release_context(device, is_retained);
  return result;
}

// ---- pointers.cpp ----

// Who reaches a range of memory: the CPU; the queue's device only; or more than one, unknown, or more than one
// allocation, for which the driver finds the way.
enum class Reach { kCpu, kDevice, kOther };
// Exact at any moment, like query_pointer(). device: the one that kDevice means.
Reach reach_of(const void *address, size_t size_bytes, int32_t device);

// ---- settled.cpp ----

// Sees to it that copies of this module's queues find what the program's blocking copies have put into the device
// memory at `address`, of the allocation `buffer_id`. Cheap but for the first time an allocation is seen. Any thread.
// True when the memory is of cuMemCreate: its number is that of a piece, and messages may reach over several pieces, so
// that it names no allocation.
bool settle(const void *address, unsigned long long buffer_id);
// Waits, as g_sync_mode says, for what the program has enqueued in the context of the memory at `address`. Any thread.
void wait_for_program(const void *address);

// ---- memory.cpp ----

// Host memory that any context's device reaches: shared pages, registered with the driver, so that the CPU may touch
// them even after the program has reset the device. A context must be current. alignment: 0 or a power of two.
sluice_result_t pages_acquire(size_t size_bytes, size_t alignment, void **memory);
// Given back later while a stream waits for a message (waits.h).
sluice_result_t pages_release(void *memory);

// ---- copies.cpp ----

// A stream of the module's own in the current context.
sluice_result_t stream_create(CUstream *stream);
// What is recorded in `from` is waited for by `to`. The event may be recorded again at once: who waits for it waits for
// what it stood for then.
sluice_result_t stream_wait_for(CUevent event, CUstream from, CUstream to);

// ---- program_memory.cpp ----

// Device memory of the current context that is not cuMemAlloc's, as g_program_memory says; for program_alloc.
sluice_result_t special_alloc(size_t size_bytes, void **memory);
// True when `memory` was given out by special_alloc() and is now freed, or *result says why not.
bool special_free(void *memory, sluice_result_t *result);

// Sees to it that the thread has a current context, as the vendor's runtime does, and says of which device it is.
sluice_result_t program_device(int32_t *device);

// Whether ipc_open gave memory of the range that begins there (CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) for queues of
// `device`, and nobody has closed it. Any thread.
bool is_opened(int32_t device, CUdeviceptr range_begin);
// Whether it gave `address`, in the context of that number, and nobody has closed it: no for some that it did. Does not
// ask the driver. Any thread.
bool is_within_opened(int32_t device, unsigned long long context_number, const void *address);

// probe_kernels.cpp, where kernels are compiled: members of sluice_probe_t
#include "../probe_members.h"

// Members of the table.
#define SLUICE_MEMBER SLUICE_DECLARED
#include "../members.def"
#undef SLUICE_MEMBER

}  // namespace sluice::backends::cuda
