// SPDX-License-Identifier: BSD-3-Clause
#include "device/reduction.hpp"

#include <fmt/format.h>

#include "device/queue.hpp"

namespace sluice::device {

bool can_reduce(const Place &place, sluice_element_t element, sluice_operation_t operation) noexcept {
  if (place.backend == nullptr || place.backend->table().can_reduce == nullptr) return false;
  return place.backend->table().can_reduce(place.device, element, operation) != 0;
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
