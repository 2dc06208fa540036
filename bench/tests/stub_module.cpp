// SPDX-License-Identifier: BSD-3-Clause
// A device module for tests: its "device memory" is host memory, so that the program side of sluice-bench can be
// tested where no device is. Knobs: SLUICE_STUB_MEMORY_BYTES, SLUICE_STUB_FLIP_COPY (the number of the copy, counted
// from 1, in which the last byte comes out wrong; 0: none).
#include <sluice/backend.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kAlignment = 256;
constexpr sluice_backend_knob_t kKnobs[] = {
    {"SLUICE_STUB_MEMORY_BYTES", "68719476736", "memory of the stub device in bytes"},
    {"SLUICE_STUB_FLIP_COPY", "0", "number of the copy to spoil, from 1; 0: none"}};

const sluice_host_services_t *host_services = nullptr;
thread_local const char *error_text = "";
std::atomic<long long> n_copies{0};

long long knob_value(const sluice_backend_knob_t &knob) {
  return std::strtoll(host_services->knob(knob.name), nullptr, 10);
}

sluice_result_t init(const sluice_host_services_t *services) {
  host_services = services;
  return SLUICE_SUCCESS;
}

const char *last_error() {
  return error_text;
}

int32_t device_count() {
  return 1;
}

sluice_result_t device_info(int32_t device, sluice_device_info_t *info) {
  if (device != 0) {
    return SLUICE_ERROR_NO_DEVICE;
  }
  *info = {};
  std::snprintf(info->name, sizeof info->name, "stub device");
  std::snprintf(info->runtime, sizeof info->runtime, "none");
  info->numa_node = -1;
  info->memory_bytes = static_cast<uint64_t>(knob_value(kKnobs[0]));
  return SLUICE_SUCCESS;
}

sluice_result_t allocate(size_t size_bytes, size_t alignment, void **memory) {
  *memory = std::aligned_alloc(alignment, (size_bytes + alignment - 1) / alignment * alignment);
  error_text = *memory == nullptr ? "aligned_alloc: no memory" : "";
  return *memory == nullptr ? SLUICE_ERROR_OUT_OF_MEMORY : SLUICE_SUCCESS;
}

sluice_result_t host_alloc(int32_t, size_t size_bytes, size_t alignment, void **memory) {
  return allocate(size_bytes, alignment != 0 ? alignment : kAlignment, memory);
}

sluice_result_t host_free(int32_t, void *memory) {
  std::free(memory);
  return SLUICE_SUCCESS;
}

// Queues that are always idle: what is enqueued is done at once.
sluice_result_t queue_create(int32_t, sluice_queue_t **queue) {
  static char any;
  *queue = reinterpret_cast<sluice_queue_t *>(&any);
  return SLUICE_SUCCESS;
}

sluice_result_t queue_destroy(sluice_queue_t *) {
  return SLUICE_SUCCESS;
}

sluice_result_t copy_bytes(void *dst, const void *src, size_t size_bytes) {
  std::memcpy(dst, src, size_bytes);
  if (++n_copies == knob_value(kKnobs[1]) && size_bytes > 0) {
    static_cast<unsigned char *>(dst)[size_bytes - 1] ^= 1U;
  }
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue_copies(sluice_queue_t *, const sluice_copy_t *copies, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    copy_bytes(copies[i].dst, copies[i].src, copies[i].size_bytes);
  }
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue_ticket(sluice_queue_t *, uint64_t *ticket) {
  *ticket = 1;
  return SLUICE_SUCCESS;
}

sluice_result_t test_ticket(sluice_queue_t *, uint64_t) {
  return SLUICE_SUCCESS;
}

sluice_result_t program_set_device(int32_t device) {
  return device == 0 ? SLUICE_SUCCESS : SLUICE_ERROR_NO_DEVICE;
}

sluice_result_t program_alloc(sluice_memory_kind_t, size_t size_bytes, void **memory) {
  return allocate(size_bytes, kAlignment, memory);
}

sluice_result_t program_free(void *memory) {
  std::free(memory);
  return SLUICE_SUCCESS;
}

sluice_result_t program_synchronize() {
  return SLUICE_SUCCESS;
}

sluice_backend_t make_table() {
  sluice_backend_t table{};  // a program needs no more than this
  table.api_version = SLUICE_BACKEND_API_VERSION;
  table.struct_size = sizeof(sluice_backend_t);
  table.name = "stub";
  table.knobs = kKnobs;
  table.n_knobs = sizeof kKnobs / sizeof kKnobs[0];
  table.init = init;
  table.last_error = last_error;
  table.device_count = device_count;
  table.device_info = device_info;
  table.host_alloc = host_alloc;
  table.host_free = host_free;
  table.queue_create = queue_create;
  table.queue_destroy = queue_destroy;
  table.enqueue_copies = enqueue_copies;
  table.enqueue_ticket = enqueue_ticket;
  table.test_ticket = test_ticket;
  table.wait_ticket = test_ticket;
  table.program_set_device = program_set_device;
  table.program_alloc = program_alloc;
  table.program_free = program_free;
  table.program_copy = copy_bytes;
  table.program_synchronize = program_synchronize;
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const sluice_backend_t *sluice_backend_table() {
  static const sluice_backend_t table = make_table();
  return &table;
}
