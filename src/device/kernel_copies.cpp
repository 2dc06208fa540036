// SPDX-License-Identifier: BSD-3-Clause
#include "device/kernel_copies.hpp"

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/log.hpp"

namespace sluice::device {
namespace {

constexpr std::size_t kTriedBytes = 64;

// Copies a few bytes of host memory that the device reaches.
Status copy_in(const Place &place, std::byte *memory) {
  Queue queue;
  if (Status status = queue.acquire(place); !status.is_ok()) return status;
  const sluice_copy_t copy = {memory + kTriedBytes, memory, kTriedBytes};
  bool is_refused = false;
  if (Status status = enqueue_kernel_copies(&queue, {&copy, 1}, &is_refused); !status.is_ok()) return status;
  const sluice_backend_t &table = place.backend->table();
  std::uint64_t ticket = 0;
  sluice_result_t result = table.enqueue_ticket(queue.get(), &ticket);
  if (result == SLUICE_SUCCESS) result = table.wait_ticket(queue.get(), ticket);
  Status status = place.backend->check(result, "copy by a kernel");
  if (!status.is_ok()) queue.discard();
  return status;
}

Status try_kernel(const Place &place) {
  const sluice_backend_t &table = place.backend->table();
  void *memory = nullptr;
  Status status = place.backend->check(table.host_alloc(place.device, 2 * kTriedBytes, kTriedBytes, &memory),
                                       "allocate host memory for a kernel");
  if (!status.is_ok()) return status;
  std::memset(memory, 0, 2 * kTriedBytes);
  status = copy_in(place, static_cast<std::byte *>(memory));
  Status freed = place.backend->check(table.host_free(place.device, memory), "free host memory");
  return status.is_ok() ? freed : status;
}

// Why a backend has enqueued no kernel. The queue stays as good as before where it has refused.
Status explain(Queue *queue, sluice_result_t result, std::string_view what, bool *is_refused) {
  *is_refused = result == SLUICE_ERROR_UNSUPPORTED;
  Status status = queue->backend().check(result, what);
  if (!*is_refused) queue->discard();
  return status;
}

}  // namespace

bool has_copy_kernel(const Place &place) {
  if (place.backend == nullptr || place.backend->table().enqueue_kernel_copies == nullptr) return false;
  struct Known {
    const Backend *backend;
    std::int32_t device;
    bool answer;
  };
  static auto *const list = new std::vector<Known>();  // a few
  static auto *const mutex = new std::mutex();
  const std::scoped_lock lock(*mutex);
  for (const Known &known : *list) {
    if (known.backend == place.backend && known.device == place.device) return known.answer;
  }
  Status status = try_kernel(place);
  if (!status.is_ok()) {
    log::warn_once("copy_kernel", "device", status.message() + "; its copy engines copy instead");
  }
  list->push_back({place.backend, place.device, status.is_ok()});
  return status.is_ok();
}

Status enqueue_kernel_copies(Queue *queue, std::span<const sluice_copy_t> copies, bool *is_refused) {
  *is_refused = false;
  const sluice_result_t result =
      queue->backend().table().enqueue_kernel_copies(queue->get(), copies.data(), copies.size());
  if (result == SLUICE_SUCCESS) return {};
  return explain(queue, result, fmt::format("make {} copies by a kernel", copies.size()), is_refused);
}

Status enqueue_compare_and_swap(Queue *queue, const sluice_swap_t &swap, bool *is_refused) {
  *is_refused = false;
  const sluice_result_t result = queue->backend().table().enqueue_compare_and_swap(queue->get(), &swap);
  return result == SLUICE_SUCCESS ? Status() : explain(queue, result, "compare and swap by a kernel", is_refused);
}

}  // namespace sluice::device
