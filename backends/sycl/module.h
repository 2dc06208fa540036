// SPDX-License-Identifier: BSD-3-Clause
// What the files of this module share. Functions named as members of sluice_backend_t are those members; their contract
// is include/sluice/backend.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <sycl/sycl.hpp>
#include <utility>

#include "sluice/backend.h"

namespace sluice::backends::sycl {

// ---- module.cpp: errors ----

// Keeps a text for last_error() of this thread and returns `result`.
sluice_result_t fail(sluice_result_t result, std::string_view text);
// What an exception of the runtime means to Sluice; keeps "call: native text" for last_error().
sluice_result_t translate(const char *call, const ::sycl::exception &error);
// Tells the user what last_error() of this thread would.
void log_error();
// The text of a knob of knobs.def.
std::string_view knob_text(const char *name);
// True once the process exits: the runtime may be gone, so nothing of it is called any more and its objects are left to
// the end of the process.
bool is_exiting();

// Runs `body`, which returns a sluice_result_t, and turns what the runtime throws into an error.
template <typename Body>
sluice_result_t guarded(const char *call, const Body &body) {
  if (is_exiting()) return fail(SLUICE_ERROR_UNSUPPORTED, "the process is exiting and the runtime may be gone");
  try {
    return body();
  } catch (const ::sycl::exception &error) {
    return translate(call, error);
  } catch (const std::bad_alloc &) {
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, "no host memory left");
  } catch (const std::exception &error) {
    return fail(SLUICE_ERROR_NATIVE, std::string(call) + ": " + error.what());
  }
}

// ---- members of the table ----

// SLUICE_SUCCESS for 0 <= device < device_count(), else SLUICE_ERROR_NO_DEVICE with a text.
sluice_result_t check_device(int32_t device);
int32_t device_count();
sluice_result_t device_info(int32_t device, sluice_device_info_t *info);
uint32_t device_traits(int32_t device);

sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info);
// context: a ::sycl::queue *. Its context's memory is known from now on, and the queue is a stream under this address;
// both are kept alive.
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
// The device that this thread chose.
int32_t program_device();
sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory);
sluice_result_t program_free(void *memory);
sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes);
sluice_result_t program_synchronize();

sluice_result_t ipc_export(const void *address, sluice_ipc_handle_t *handle, uint64_t *base_offset,
                           uint64_t *size_bytes);
sluice_result_t ipc_open(int32_t device, const sluice_ipc_handle_t *handle, void **base, uint64_t *size_bytes);
sluice_result_t ipc_close(int32_t device, void *base);
// Hands no more memory over; calls nothing of the runtime. Handles of Level Zero's mechanism are then good for nothing.
void stop_exports();

// reduce.cpp
int32_t can_reduce(int32_t device, sluice_element_t element, sluice_operation_t operation);
sluice_result_t enqueue_reduction(sluice_queue_t *queue, const sluice_reduction_t *reduction);

// kernel_copies.cpp
sluice_result_t enqueue_kernel_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies);

// pack.cpp
int32_t can_pack(int32_t device);
sluice_result_t enqueue_pack(sluice_queue_t *queue, const sluice_pack_t *pack);
sluice_result_t device_alloc(int32_t device, size_t size_bytes, void **memory);
sluice_result_t device_free(int32_t device, void *memory);

// stream.cpp; `native` is a ::sycl::queue * that was given to register_context
int32_t stream_query(const void *native);
sluice_result_t stream_open(void *native, sluice_stream_t **stream, int32_t *device);
sluice_result_t stream_close(sluice_stream_t *stream);
sluice_result_t stream_write(sluice_stream_t *stream, uint64_t *word, uint64_t value);
sluice_result_t stream_wait(sluice_stream_t *stream, const uint64_t *word, uint64_t least);

// stream_channel.cpp
sluice_result_t host_register(int32_t device, void *memory, size_t size_bytes);
sluice_result_t host_unregister(int32_t device, void *memory);
sluice_result_t stream_copy(sluice_stream_t *stream, void *dst, const void *src, size_t size_bytes);
sluice_result_t stream_take(sluice_stream_t *stream, void *dst, const sluice_units_t *from, size_t most_bytes,
                            const uint64_t *word);

// program_stream.cpp
sluice_result_t program_stream_create(void **native);
sluice_result_t program_stream_destroy(void *native);
sluice_result_t program_stream_copy(void *native, void *dst, const void *src, size_t size_bytes);
sluice_result_t program_stream_synchronize(void *native);

// words.cpp
const char *const *support_words();
const char *const *memory_kind_words();

}  // namespace sluice::backends::sycl
