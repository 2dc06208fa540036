/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A backend module with no device memory, for tests of loading. UNIT_NAME is its name; UNIT_DEFECT says what is wrong
 * with it: 0 nothing, 1 exports nothing, 2 no table, 3 of another version, 4 a mandatory function is empty, 5 no
 * device, 6 cannot start, 7 was compiled with a shorter table. */
#include <stdlib.h>

#include "sluice/backend.h"

#define UNIT_PUBLIC __attribute__((visibility("default")))

/* How often the module was started and not ended, for the tests to look up. */
UNIT_PUBLIC int unit_live = 0;

static sluice_result_t init(const sluice_host_services_t *services) {
  (void)services;
#if UNIT_DEFECT == 5
  return SLUICE_ERROR_NO_DEVICE;
#elif UNIT_DEFECT == 6
  return SLUICE_ERROR_NATIVE;
#else
  ++unit_live;
  return SLUICE_SUCCESS;
#endif
}

static void fini(void) {
  --unit_live;
}
static const char *last_error(void) {
  return "UNIT_NATIVE_42: the runtime is asleep";
}
static int32_t device_count(void) {
  return 0;
}
static sluice_result_t device_info(int32_t device, sluice_device_info_t *info) {
  (void)device;
  (void)info;
  return SLUICE_ERROR_NO_DEVICE;
}
static sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info) {
  (void)address;
  info->kind = SLUICE_MEMORY_HOST;
  return SLUICE_SUCCESS;
}
static sluice_result_t register_context(void *context) {
  (void)context;
  return SLUICE_SUCCESS;
}
static sluice_result_t host_alloc(int32_t device, size_t size_bytes, size_t alignment, void **memory) {
  (void)device;
  (void)alignment;
  *memory = malloc(size_bytes);
  return *memory != NULL ? SLUICE_SUCCESS : SLUICE_ERROR_OUT_OF_MEMORY;
}
static sluice_result_t host_free(int32_t device, void *memory) {
  (void)device;
  free(memory);
  return SLUICE_SUCCESS;
}
static sluice_staging_memory_t preferred_staging(int32_t device) {
  (void)device;
  return SLUICE_STAGING_MALLOC;
}
static sluice_result_t queue_create(int32_t device, sluice_queue_t **queue) {
  (void)device;
  (void)queue;
  return SLUICE_ERROR_NO_DEVICE;
}
static sluice_result_t queue_destroy(sluice_queue_t *queue) {
  (void)queue;
  return SLUICE_ERROR_INVALID_ARGUMENT;
}
static sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, size_t n_copies) {
  (void)queue;
  (void)copies;
  (void)n_copies;
  return SLUICE_ERROR_INVALID_ARGUMENT;
}
static sluice_result_t enqueue_ticket(sluice_queue_t *queue, uint64_t *ticket) {
  (void)queue;
  (void)ticket;
  return SLUICE_ERROR_INVALID_ARGUMENT;
}
static sluice_result_t no_ticket(sluice_queue_t *queue, uint64_t ticket) {
  (void)queue;
  (void)ticket;
  return SLUICE_ERROR_INVALID_ARGUMENT;
}
static sluice_result_t copy(sluice_queue_t *queue, void *dst, const void *src, size_t size_bytes) {
  (void)queue;
  (void)dst;
  (void)src;
  (void)size_bytes;
  return SLUICE_ERROR_INVALID_ARGUMENT;
}

static const sluice_backend_t table = {
    .api_version = SLUICE_BACKEND_API_VERSION + (UNIT_DEFECT == 3 ? 1u : 0u),
    .struct_size = (uint32_t)(sizeof(sluice_backend_t) - (UNIT_DEFECT == 7 ? sizeof(void *) : 0u)),
    .name = UNIT_NAME,
    .init = init,
    .fini = fini,
    .last_error = last_error,
    .device_count = device_count,
    .device_info = device_info,
    .query_pointer = query_pointer,
    .register_context = register_context,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .preferred_staging = preferred_staging,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .enqueue_copies = enqueue_copies,
    .enqueue_ticket = enqueue_ticket,
    .test_ticket = no_ticket,
    .wait_ticket = UNIT_DEFECT == 4 ? NULL : no_ticket,
    .copy = copy,
};

#if UNIT_DEFECT == 1
UNIT_PUBLIC
const sluice_backend_t *unit_other_table(void);
const sluice_backend_t *unit_other_table(void) {
  return &table;
}
#else
UNIT_PUBLIC
const sluice_backend_t *sluice_backend_table(void);
const sluice_backend_t *sluice_backend_table(void) {
  return UNIT_DEFECT == 2 ? NULL : &table;
}
#endif
