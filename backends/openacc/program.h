// SPDX-License-Identifier: BSD-3-Clause
// Members of the table; the contract is include/sluice/backend.h.
#pragma once

#include <string>

#include "../module_state.h"
#include "sluice/backend.h"

namespace sluice::backends::openacc {

// SLUICE_ERROR_NO_DEVICE when the runtime has neither a device nor the host.
sluice_result_t open_runtime();

int32_t device_count();
sluice_result_t device_info(int32_t device, sluice_device_info_t *info);
uint32_t device_traits(int32_t device);
sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info);
sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory);
sluice_result_t host_free(int32_t device, void *memory);
sluice_result_t queue_create(int32_t device, sluice_queue_t **queue);
sluice_result_t queue_destroy(sluice_queue_t *queue);
sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies);
sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket);
sluice_result_t wait_ticket(sluice_queue_t *queue, uint64_t ticket);
sluice_result_t program_set_device(int32_t device);
sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory);
sluice_result_t program_free(void *memory);
sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes);
sluice_result_t program_synchronize();

}  // namespace sluice::backends::openacc
