// SPDX-License-Identifier: BSD-3-Clause
#include "device/reduction.hpp"

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "base/log.hpp"

namespace sluice::device {
namespace {

// The longest element.
constexpr std::size_t kElementBytes = 64;

// Reduces one element to itself.
Status try_kernel(const Place &place, sluice_element_t element, sluice_operation_t operation) {
  const sluice_backend_t &table = place.backend->table();
  void *memory = nullptr;
  Status status = place.backend->check(table.host_alloc(place.device, kElementBytes, kElementBytes, &memory),
                                       "allocate host memory for a kernel");
  if (!status.is_ok()) return status;
  std::memset(memory, 0, kElementBytes);
  const void *const source = memory;
  bool is_refused = false;
  status = reduce(place, {element, operation, &memory, &source, 1, 1, 1, 0, 0}, &is_refused);
  Status freed = place.backend->check(table.host_free(place.device, memory), "free host memory");
  return status.is_ok() ? freed : status;
}

}  // namespace

bool can_reduce(const Place &place, sluice_element_t element, sluice_operation_t operation) noexcept {
  if (place.backend == nullptr || place.backend->table().can_reduce == nullptr) return false;
  return place.backend->table().can_reduce(place.device, element, operation) != 0;
}

bool has_kernel(const Place &place, sluice_element_t element, sluice_operation_t operation) {
  struct Known {
    const Backend *backend;
    std::int32_t device;
    sluice_element_t element;
    sluice_operation_t operation;
    bool answer;
  };
  static auto *const list = new std::vector<Known>();  // some hundred at most
  static auto *const mutex = new std::mutex();
  const std::scoped_lock lock(*mutex);
  for (const Known &known : *list) {
    if (known.element == element && known.operation == operation && known.backend == place.backend &&
        known.device == place.device) {
      return known.answer;
    }
  }
  bool answer = false;
  if (can_reduce(place, element, operation)) {
    Status status = try_kernel(place, element, operation);
    answer = status.is_ok();
    if (!answer) log::warn_once("reduce_kernel", "device", status.message() + "; the host reduces instead");
  }
  list->push_back({place.backend, place.device, element, operation, answer});
  return answer;
}

Status enqueue_reductions(Queue *queue, std::span<const sluice_reduction_t> reductions, bool *is_refused) {
  *is_refused = false;
  for (const sluice_reduction_t &reduction : reductions) {
    const sluice_result_t result = queue->backend().table().enqueue_reduction(queue->get(), &reduction);
    if (result == SLUICE_SUCCESS) continue;
    Status status = queue->backend().check(result, fmt::format("reduce {} elements", reduction.count));
    *is_refused = result == SLUICE_ERROR_UNSUPPORTED && &reduction == reductions.data();
    if (!*is_refused) queue->discard();
    return status;
  }
  return {};
}

Status reduce(const Place &place, const sluice_reduction_t &reduction, bool *is_refused) {
  *is_refused = false;
  Queue queue;
  if (Status status = queue.acquire(place); !status.is_ok()) return status;
  const sluice_backend_t &table = place.backend->table();
  const auto explain = [&](sluice_result_t result) {
    return place.backend->check(result, fmt::format("reduce {} elements", reduction.count));
  };
  sluice_result_t result = table.enqueue_reduction(queue.get(), &reduction);
  if (result == SLUICE_ERROR_UNSUPPORTED) {  // nothing was enqueued: the queue is as good as before
    *is_refused = true;
    return explain(result);
  }
  std::uint64_t ticket = 0;
  if (result == SLUICE_SUCCESS) result = table.enqueue_ticket(queue.get(), &ticket);
  if (result == SLUICE_SUCCESS) result = table.wait_ticket(queue.get(), ticket);
  if (result == SLUICE_SUCCESS) return {};
  Status status = explain(result);
  queue.discard();
  return status;
}

}  // namespace sluice::device
