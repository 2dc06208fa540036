// SPDX-License-Identifier: BSD-3-Clause
// What a program does with the runtime. OpenACC's calls return no errors: what they cannot do ends the process, or is a
// null pointer.
#include "program.h"

#include <openacc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "../ledger.h"

namespace sluice::backends::openacc {
namespace {

constexpr size_t kUsualAlignment = 64;

// Devices, or the host where there are none.
acc_device_t device_type() {
  return acc_get_num_devices(acc_device_not_host) > 0 ? acc_device_not_host : acc_device_host;
}

bool is_host() {
  return device_type() == acc_device_host;
}

struct Allocation {
  size_t size_bytes = 0;
  int32_t device = 0;
  uint64_t id = 0;
};

Ledger<Allocation> &ledger() {
  return ledger_of<Allocation>();
}

bool is_on_device(const void *address) {
  sluice_pointer_info_t info{};
  return query_pointer(address, &info) == SLUICE_SUCCESS && info.kind == SLUICE_MEMORY_DEVICE;
}

// Older compilers have no acc_memcpy_device.
void copy_within(unsigned char *dst, const unsigned char *src, size_t size_bytes) {
#pragma acc parallel loop deviceptr(dst, src)
  for (size_t i = 0; i < size_bytes; ++i) dst[i] = src[i];
}

const char *text_property(int32_t device, acc_device_property_t property) {
  const char *text = acc_get_property_string(device, device_type(), property);
  return text != nullptr ? text : "";
}

}  // namespace

sluice_result_t open_runtime() {
  return acc_get_num_devices(device_type()) > 0 ? SLUICE_SUCCESS
                                                : fail(SLUICE_ERROR_NO_DEVICE, "the OpenACC runtime has no device");
}

int32_t device_count() {
  return acc_get_num_devices(device_type());
}

sluice_result_t device_info(int32_t device, sluice_device_info_t *info) {
  if (device < 0 || device >= device_count()) {
    return fail(SLUICE_ERROR_NO_DEVICE, "there is no device " + std::to_string(device));
  }
  *info = {};
  const char *name = text_property(device, acc_property_name);
  std::snprintf(info->name, sizeof info->name, "%s", is_host() || *name == '\0' ? "host" : name);
  std::snprintf(info->runtime, sizeof info->runtime, "OpenACC %d%s", _OPENACC,
                is_host() ? " on the host: no device to offload to" : "");
  info->numa_node = -1;
  info->memory_bytes = acc_get_property(device, device_type(), acc_property_memory);
  return SLUICE_SUCCESS;
}

uint32_t device_traits(int32_t /*device*/) {
  return is_host() ? static_cast<uint32_t>(SLUICE_DEVICE_COPIES_BY_CPU) : 0U;
}

sluice_result_t query_pointer(const void *address, sluice_pointer_info_t *info) {
  *info = {SLUICE_MEMORY_HOST, -1, 0};
  const std::scoped_lock lock(ledger().mutex);
  const Allocation *known = ledger().find(address);
  if (known != nullptr) *info = {SLUICE_MEMORY_DEVICE, known->device, known->id};
  return SLUICE_SUCCESS;
}

// OpenACC has no host memory of its own: C memory.
sluice_result_t host_alloc(int32_t /*device*/, size_t size_bytes, size_t alignment, void **memory) {
  const size_t aligned = alignment < kUsualAlignment ? kUsualAlignment : alignment;
  *memory = std::aligned_alloc(aligned, (size_bytes / aligned + 1) * aligned);
  return *memory != nullptr ? SLUICE_SUCCESS
                            : fail(SLUICE_ERROR_OUT_OF_MEMORY, "the C library has no memory of that size");
}

sluice_result_t host_free(int32_t /*device*/, void *memory) {
  std::free(memory);
  return SLUICE_SUCCESS;
}

// Copies are done when they are enqueued.
sluice_result_t queue_create(int32_t device, sluice_queue_t **queue) {
  static char any;
  *queue = reinterpret_cast<sluice_queue_t *>(&any);
  return program_set_device(device);
}

sluice_result_t queue_destroy(sluice_queue_t * /*queue*/) {
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue_copies(sluice_queue_t * /*queue*/, const sluice_copy_t *copies, size_t n_copies) {
  for (size_t i = 0; i < n_copies; ++i) {
    const sluice_result_t result = program_copy(copies[i].dst, copies[i].src, copies[i].size_bytes);
    if (result != SLUICE_SUCCESS) return result;
  }
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue_ticket(sluice_queue_t * /*queue*/, uint64_t *ticket) {
  *ticket = 1;
  return SLUICE_SUCCESS;
}

sluice_result_t wait_ticket(sluice_queue_t * /*queue*/, uint64_t /*ticket*/) {
  return program_synchronize();
}

sluice_result_t program_set_device(int32_t device) {
  if (device < 0 || device >= device_count()) {
    return fail(SLUICE_ERROR_NO_DEVICE, "there is no device " + std::to_string(device));
  }
  acc_set_device_num(device, device_type());
  return SLUICE_SUCCESS;
}

sluice_result_t program_alloc(sluice_memory_kind_t kind, size_t size_bytes, void **memory) {
  *memory = nullptr;
  if (kind != SLUICE_MEMORY_DEVICE) {
    return fail(SLUICE_ERROR_UNSUPPORTED, "OpenACC has device memory (D) only: no pinned and no managed memory");
  }
  const size_t size = size_bytes == 0 ? 1 : size_bytes;
  *memory = acc_malloc(size);
  if (*memory == nullptr)
    return fail(SLUICE_ERROR_OUT_OF_MEMORY, "acc_malloc gave no " + std::to_string(size) + " bytes");
  const std::scoped_lock lock(ledger().mutex);
  ledger().by_address[*memory] = {size, acc_get_device_num(device_type()), ++ledger().last_id};
  return SLUICE_SUCCESS;
}

sluice_result_t program_free(void *memory) {
  if (memory == nullptr) return SLUICE_SUCCESS;
  {
    const std::scoped_lock lock(ledger().mutex);
    if (ledger().by_address.erase(memory) == 0) {
      return fail(SLUICE_ERROR_INVALID_ARGUMENT, "this address was not given by acc_malloc");
    }
  }
  acc_free(memory);
  return SLUICE_SUCCESS;
}

sluice_result_t program_copy(void *dst, const void *src, size_t size_bytes) {
  if (size_bytes == 0) return SLUICE_SUCCESS;
  const bool is_up = is_on_device(dst);
  const bool is_down = is_on_device(src);
  if (is_up && is_down) {
    copy_within(static_cast<unsigned char *>(dst), static_cast<const unsigned char *>(src), size_bytes);
  } else if (is_up) {
    acc_memcpy_to_device(dst, const_cast<void *>(src), size_bytes);
  } else if (is_down) {
    acc_memcpy_from_device(dst, const_cast<void *>(src), size_bytes);
  } else {
    std::memcpy(dst, src, size_bytes);
  }
  return SLUICE_SUCCESS;
}

sluice_result_t program_synchronize() {
  acc_wait_all();
  return SLUICE_SUCCESS;
}

}  // namespace sluice::backends::openacc
