// SPDX-License-Identifier: BSD-3-Clause
// What the files of this module share. Functions named as members of sluice_backend_t are those members; their contract
// is include/sluice/backend.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "driver.h"
#include "sluice/backend.h"
#include "sluice/probe.h"

namespace sluice::backends::cuda {

// How the end of a copy is seen (the knob SLUICE_CUDA_COPY).
enum class CopyMode { kAuto, kFlag, kEvent, kSync };

// The driver's functions; valid after init().
extern Driver g_driver;
extern CopyMode g_copy_mode;
// From how many copies on they go in one command (the knob SLUICE_CUDA_BATCH_FROM).
extern size_t g_batch_from;

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

// Whether the program's streams are taken (the knob SLUICE_CUDA_STREAMS).
extern bool g_takes_streams;
// What triggers and waits (the knob SLUICE_CUDA_STREAM_OPERATIONS): the driver's operations, kernels, or (auto) the
// driver's operations trigger, and kernels wait where this process has the device to itself.
enum class Signals { kAuto, kMemory, kKernels };
extern Signals g_signals;
// What the module does not do while a stream of the program's waits for a message (the knob SLUICE_CUDA_WHILE_WAITING;
// waits.h): nothing for which the driver waits; and no mapping of other processes' memory either.
enum class Caution { kNone, kCareful, kCautious };
extern Caution g_caution;

// What program_alloc makes device memory of (the knob SLUICE_CUDA_PROGRAM_MEMORY).
enum class ProgramMemory { kPlain, kPieces, kFabricPieces, kPrivatePieces, kPool };
extern ProgramMemory g_program_memory;

// The library that carries messages for programs (the knob SLUICE_CUDA_NCCL).
extern std::string g_nccl;

// ---- module.cpp: errors ----

// Keeps a text for last_error() of this thread and returns `result`.
sluice_result_t fail(sluice_result_t result, std::string_view text);
// What a driver's answer means to Sluice; keeps "call: native text" for last_error() when it is an error.
sluice_result_t translate(const char *call, CUresult native);
// What last_error() says now.
const char *error_text();
// Says one line (0 error, 1 warning, 2 info, 3 debug) through the host's log.
void log_line(int level, const char *text);

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

// ---- members of the table ----

int32_t device_count();
sluice_result_t device_info(int32_t device, sluice_device_info_t *info);
uint32_t device_traits(int32_t device);

sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info);
sluice_result_t register_context(void *context);

sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory);
sluice_result_t host_free(int32_t device, void *memory);
sluice_staging_memory_t preferred_staging(int32_t device);

sluice_result_t queue_create(int32_t device, sluice_queue_t **queue);
sluice_result_t queue_destroy(sluice_queue_t *queue);
sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies);
sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket);
sluice_result_t enqueue_wait_for_queue(sluice_queue_t *queue, sluice_queue_t *other);
sluice_result_t test_ticket(sluice_queue_t *queue, uint64_t ticket);
sluice_result_t wait_ticket(sluice_queue_t *queue, uint64_t ticket);
sluice_result_t copy(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes);

sluice_result_t program_set_device(int32_t device);
// Sees to it that the thread has a current context, as the vendor's runtime does, and says of which device it is.
sluice_result_t program_device(int32_t *device);
sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory);
sluice_result_t program_free(void *memory);
sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes);
sluice_result_t program_synchronize();

sluice_result_t ipc_export(const void *address, sluice_ipc_handle_t *handle, uint64_t *base_offset,
                           uint64_t *size_bytes);
sluice_result_t ipc_open(int32_t device, const sluice_ipc_handle_t *handle, void **base, uint64_t *size_bytes);
sluice_result_t ipc_close(int32_t device, void *base);

// Whether ipc_open gave memory of the range that begins there (CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) for queues of
// `device`, and nobody has closed it. Any thread.
bool is_opened(int32_t device, CUdeviceptr range_begin);
// Whether it gave `address`, in the context of that number, and nobody has closed it: no for some that it did. Does not
// ask the driver. Any thread.
bool is_within_opened(int32_t device, unsigned long long context_number, const void *address);

int32_t can_reduce(int32_t device, sluice_element_t element, sluice_operation_t operation);
sluice_result_t enqueue_reduction(sluice_queue_t *queue, const sluice_reduction_t *reduction);

// kernel_copies.cpp
sluice_result_t enqueue_kernel_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies);

// pack.cpp
int32_t can_pack(int32_t device);
sluice_result_t enqueue_pack(sluice_queue_t *queue, const sluice_pack_t *pack);
sluice_result_t device_alloc(int32_t device, size_t size_bytes, void **memory);
sluice_result_t device_free(int32_t device, void *memory);

// stream.cpp
int32_t stream_query(const void *native);
sluice_result_t stream_open(void *native, sluice_stream_t **stream, int32_t *device);
sluice_result_t stream_close(sluice_stream_t *stream);
sluice_result_t stream_write(sluice_stream_t *stream, uint64_t *word, uint64_t value);
sluice_result_t stream_wait(sluice_stream_t *stream, const uint64_t *word, uint64_t least);
// stream_channel.cpp, where kernels are compiled
sluice_result_t host_register(int32_t device, void *memory, size_t size_bytes);
sluice_result_t host_unregister(int32_t device, void *memory);
sluice_result_t stream_copy(sluice_stream_t *stream, void *dst, const void *src, size_t size_bytes);
sluice_result_t stream_take(sluice_stream_t *stream, void *dst, const sluice_units_t *from, size_t most_bytes,
                            const uint64_t *word);
sluice_result_t program_stream_create(void **native);
sluice_result_t program_stream_destroy(void *native);
sluice_result_t program_stream_copy(void *native, void *dst, const void *src, size_t size_bytes);
sluice_result_t program_stream_synchronize(void *native);

// probe_kernels.cpp, where kernels are compiled: members of sluice_probe_t
sluice_result_t check_memory(const sluice_memory_check_t *check, sluice_check_finding_t *finding);
sluice_result_t work_create(sluice_work_t **work);
sluice_result_t work_enqueue(sluice_work_t *work, uint64_t n_steps);
sluice_result_t work_wait(sluice_work_t *work, uint64_t *result);
sluice_result_t work_destroy(sluice_work_t *work);

// words.cpp
const char *const *support_words();
const char *const *memory_kind_words();

}  // namespace sluice::backends::cuda
