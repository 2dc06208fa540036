// SPDX-License-Identifier: BSD-3-Clause
// What the files of this module share. Each function below is the member of sluice_backend_t with the same name; what
// it must do is written in include/sluice/backend.h, and docs/adding-a-backend.md says in which order to write them.
#pragma once

#include <string_view>

#include "sluice/backend.h"

namespace sluice::backends::template_backend {

// Keeps a text for last_error() and returns `result`. Give it the native call and the native error's words:
// fail(SLUICE_ERROR_NATIVE, "vendorMemcpy: VENDOR_ERROR_LOST (the device is gone)").
sluice_result_t fail(sluice_result_t result, std::string_view text);

// What Sluice lends: the log and the knobs. Valid from init() to fini().
const sluice_host_services_t *services();

// devices.cpp
int32_t device_count();
sluice_result_t device_info(int32_t device, sluice_device_info_t *info);

// pointers.cpp
sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info);
sluice_result_t register_context(void *context);

// memory.cpp
sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory);
sluice_result_t host_free(int32_t device, void *memory);
sluice_staging_memory_t preferred_staging(int32_t device);

// copies.cpp
sluice_result_t queue_create(int32_t device, sluice_queue_t **queue);
sluice_result_t queue_destroy(sluice_queue_t *queue);
sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies);
sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket);
sluice_result_t enqueue_wait_for_queue(sluice_queue_t *queue, sluice_queue_t *other);
sluice_result_t test_ticket(sluice_queue_t *queue, uint64_t ticket);
sluice_result_t wait_ticket(sluice_queue_t *queue, uint64_t ticket);
sluice_result_t copy(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes);

// ipc.cpp
sluice_result_t ipc_export(const void *address, sluice_ipc_handle_t *handle, uint64_t *base_offset,
                           uint64_t *size_bytes);
sluice_result_t ipc_open(int32_t device, const sluice_ipc_handle_t *handle, void **base, uint64_t *size_bytes);
sluice_result_t ipc_close(int32_t device, void *base);

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

// words.cpp
const char *const *support_words();
const char *const *memory_kind_words();

// program.cpp
sluice_result_t program_set_device(int32_t device);
sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory);
sluice_result_t program_free(void *memory);
sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes);
sluice_result_t program_synchronize();

}  // namespace sluice::backends::template_backend
