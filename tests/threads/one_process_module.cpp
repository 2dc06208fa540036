// SPDX-License-Identifier: BSD-3-Clause
// A backend module over another one, whose table it gives out with one change: a process opens the handles of its own
// memory, too, so that ranks which are threads pull from each other as processes do. And it fails on purpose.
#include "one_process_module.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include "sluice/backend.h"

namespace {

const sluice_backend_t *real = nullptr;

struct Exported {
  sluice_ipc_handle_t handle;
  std::byte *base;
  std::uint64_t size_bytes;
};
std::mutex mutex;
std::vector<Exported> exported;  // with mutex

thread_local ThreadFaults faults;

sluice_result_t ipc_export(const void *address, sluice_ipc_handle_t *handle, std::uint64_t *base_offset,
                           std::uint64_t *size_bytes) {
  const sluice_result_t result = real->ipc_export(address, handle, base_offset, size_bytes);
  if (result != SLUICE_SUCCESS) return result;
  auto *const base = const_cast<std::byte *>(static_cast<const std::byte *>(address)) - *base_offset;
  const std::scoped_lock lock(mutex);
  exported.push_back({*handle, base, *size_bytes});
  return result;
}

// The latest of that handle: memory may have been freed and exported again.
sluice_result_t ipc_open(std::int32_t /*device*/, const sluice_ipc_handle_t *handle, void **base,
                         std::uint64_t *size_bytes) {
  const std::scoped_lock lock(mutex);
  for (auto one = exported.rbegin(); one != exported.rend(); ++one) {
    if (std::memcmp(one->handle.bytes, handle->bytes, sizeof handle->bytes) != 0) continue;
    *base = one->base;
    *size_bytes = one->size_bytes;
    return SLUICE_SUCCESS;
  }
  return SLUICE_ERROR_INVALID_ARGUMENT;
}

sluice_result_t ipc_close(std::int32_t /*device*/, void * /*base*/) {
  return SLUICE_SUCCESS;
}

sluice_result_t enqueue_copies(sluice_queue_t *queue, const sluice_copy_t *copies, std::size_t n_copies) {
  if (faults.fails_copies) return SLUICE_ERROR_NATIVE;
  return faults.loses_copies ? SLUICE_SUCCESS : real->enqueue_copies(queue, copies, n_copies);
}

sluice_result_t enqueue_kernel_copies(sluice_queue_t *queue, const sluice_copy_t *copies, std::size_t n_copies) {
  if (faults.fails_copies) return SLUICE_ERROR_NATIVE;
  return faults.loses_copies ? SLUICE_SUCCESS : real->enqueue_kernel_copies(queue, copies, n_copies);
}

sluice_result_t enqueue_compare_and_swap(sluice_queue_t *queue, const sluice_swap_t *swap) {
  if (faults.fails_copies) return SLUICE_ERROR_NATIVE;
  return faults.loses_copies ? SLUICE_SUCCESS : real->enqueue_compare_and_swap(queue, swap);
}

sluice_result_t enqueue_reduction(sluice_queue_t *queue, const sluice_reduction_t *reduction) {
  if (faults.fails_copies) return SLUICE_ERROR_NATIVE;
  return faults.loses_copies ? SLUICE_SUCCESS : real->enqueue_reduction(queue, reduction);
}

const sluice_backend_t *make_table() {
  void *library = dlopen(THREADS_REAL_MODULE, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto table_of = reinterpret_cast<sluice_backend_table_fn>(dlsym(library, SLUICE_BACKEND_TABLE_SYMBOL));
  if (table_of == nullptr) return nullptr;
  real = table_of();
  static sluice_backend_t table = *real;
  table.ipc_export = ipc_export;
  table.ipc_open = ipc_open;
  table.ipc_close = ipc_close;
  table.enqueue_copies = enqueue_copies;
  if (table.enqueue_kernel_copies != nullptr) table.enqueue_kernel_copies = enqueue_kernel_copies;
  if (table.enqueue_compare_and_swap != nullptr) table.enqueue_compare_and_swap = enqueue_compare_and_swap;
  if (table.enqueue_reduction != nullptr) table.enqueue_reduction = enqueue_reduction;
  return &table;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) const sluice_backend_t *sluice_backend_table(void) {
  static const sluice_backend_t *const table = make_table();
  return table;
}

__attribute__((visibility("default"))) ThreadFaults *faults_of_this_thread(void) {
  return &faults;
}

}  // extern "C"
