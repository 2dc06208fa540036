// SPDX-License-Identifier: BSD-3-Clause
// What the files of this module share. Functions named as members of sluice_backend_t are those members; their contract
// is include/sluice/backend.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime.h"
#include "sluice/backend.h"
#include "sluice/probe.h"

namespace sluice::backends::hip {

// The runtime's functions; valid after init().
extern Runtime g_runtime;

// What triggers and waits in streams: the runtime's stream memory operations, kernels, or (auto) the first where the
// device has it.
enum class StreamOperations { kAuto, kMemory, kKernels };

// What the knobs SLUICE_HIP_IPC, _STREAMS, _STREAM_OPERATIONS and _REDUCE say.
struct Choices {
  bool ipc = true;
  bool streams = false;
  StreamOperations stream_operations = StreamOperations::kAuto;
  bool reduce = true;
};
extern Choices g_choices;

// ---- module.cpp: errors ----

// Keeps a text for last_error() of this thread and returns `result`.
sluice_result_t fail(sluice_result_t result, std::string_view text);
// What an answer of the runtime means to Sluice; keeps "call: native text" for last_error() when it is an error.
sluice_result_t translate(const char *call, hipError_t native);
// This thread's last text.
const char *error_text();
// Tells the user that text, as a warning: of what fails when nobody is there to be answered.
void log_error();

// ---- devices.cpp ----

// SLUICE_SUCCESS for 0 <= device < device_count(), else SLUICE_ERROR_NO_DEVICE with a text.
sluice_result_t check_device(int32_t device);

// Makes a device current for a scope, and lets the scope's calls pass while the program captures a stream. Both are as
// before afterwards. A device of this runtime has one context, which the program's first use of it makes; Sluice
// comes here only with memory or a queue of that device.
class DeviceScope {
 public:
  explicit DeviceScope(int32_t device);
  ~DeviceScope();
  DeviceScope(const DeviceScope &) = delete;
  DeviceScope &operator=(const DeviceScope &) = delete;

  // SLUICE_SUCCESS, or why the device cannot be made current.
  sluice_result_t result() const { return result_; }

 private:
  int before_ = -1;  // -1: nothing is to be put back
  bool is_relaxed_ = false;
  hipStreamCaptureMode capture_mode_ = hipStreamCaptureModeRelaxed;
  sluice_result_t result_ = SLUICE_SUCCESS;
};

// ---- pointers.cpp ----

// Where a kernel or stream of the current device finds `address`: itself for device and managed memory, the device's
// address for host memory that the runtime knows. SLUICE_ERROR_UNSUPPORTED for any other memory.
sluice_result_t device_address(int32_t device, const void *address, void **found);
// The same for memory of that length, whose two ends are asked for.
sluice_result_t device_range(int32_t device, const void *memory, size_t size_bytes, void **found);

// ---- ipc.cpp ----

// Whether ipc_open gave memory that holds `address` for queues of `device`, and nobody has closed it. Any thread.
bool is_opened(int32_t device, const void *address);

// ---- members of the table ----

int32_t device_count();
sluice_result_t device_info(int32_t device, sluice_device_info_t *info);

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
sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory);
sluice_result_t program_free(void *memory);
sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes);
sluice_result_t program_synchronize();

sluice_result_t ipc_export(const void *address, sluice_ipc_handle_t *handle, uint64_t *base_offset,
                           uint64_t *size_bytes);
sluice_result_t ipc_open(int32_t device, const sluice_ipc_handle_t *handle, void **base, uint64_t *size_bytes);
sluice_result_t ipc_close(int32_t device, void *base);

int32_t can_reduce(int32_t device, sluice_element_t element, sluice_operation_t operation);
sluice_result_t enqueue_reduction(sluice_queue_t *queue, const sluice_reduction_t *reduction);

sluice_result_t enqueue_kernel_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies);

int32_t can_pack(int32_t device);
sluice_result_t enqueue_pack(sluice_queue_t *queue, const sluice_pack_t *pack);
sluice_result_t device_alloc(int32_t device, size_t size_bytes, void **memory);
sluice_result_t device_free(int32_t device, void *memory);

// probe_kernels.cpp: members of sluice_probe_t
sluice_result_t check_memory(const sluice_memory_check_t *check, sluice_check_finding_t *finding);
sluice_result_t work_create(sluice_work_t **work);
sluice_result_t work_enqueue(sluice_work_t *work, uint64_t n_steps);
sluice_result_t work_wait(sluice_work_t *work, uint64_t *result);
sluice_result_t work_destroy(sluice_work_t *work);

// stream.cpp
int32_t stream_query(const void *native);
sluice_result_t stream_open(void *native, sluice_stream_t **stream, int32_t *device);
sluice_result_t stream_close(sluice_stream_t *stream);
sluice_result_t stream_write(sluice_stream_t *stream, uint64_t *word, uint64_t value);
sluice_result_t stream_wait(sluice_stream_t *stream, const uint64_t *word, uint64_t least);
sluice_result_t program_stream_create(void **native);
sluice_result_t program_stream_destroy(void *native);
sluice_result_t program_stream_copy(void *native, void *dst, const void *src, size_t size_bytes);
sluice_result_t program_stream_synchronize(void *native);

// stream_channel.cpp
sluice_result_t host_register(int32_t device, void *memory, size_t size_bytes);
sluice_result_t host_unregister(int32_t device, void *memory);
sluice_result_t stream_copy(sluice_stream_t *stream, void *dst, const void *src, size_t size_bytes);
sluice_result_t stream_take(sluice_stream_t *stream, void *dst, const sluice_units_t *from, size_t most_bytes,
                            const uint64_t *word);

// words.cpp
const char *const *support_words();
const char *const *memory_kind_words();

}  // namespace sluice::backends::hip
