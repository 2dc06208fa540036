// SPDX-License-Identifier: BSD-3-Clause
#include "device/copy.hpp"

#include <fmt/format.h>

#include "device/queue.hpp"

namespace sluice::device {

Status copy(const Place &place, void *dst, const void *src, std::size_t size_bytes) {
  if (size_bytes == 0) return {};
  Queue queue;
  if (Status status = queue.acquire(place); !status.is_ok()) return status;
  const sluice_result_t result = place.backend->table().copy(queue.get(), dst, src, size_bytes);
  if (result == SLUICE_SUCCESS) return {};
  Status status = place.backend->check(result, fmt::format("copy {} bytes", size_bytes));
  queue.discard();
  return status;
}

Status copy(const Place &place, std::span<const sluice_copy_t> pieces) {
  if (pieces.empty()) return {};
  if (pieces.size() == 1) return copy(place, pieces[0].dst, pieces[0].src, pieces[0].size_bytes);
  Queue queue;
  if (Status status = queue.acquire(place); !status.is_ok()) return status;
  const sluice_backend_t &table = place.backend->table();
  std::uint64_t ticket = 0;
  sluice_result_t result = table.enqueue_copies(queue.get(), pieces.data(), pieces.size());
  if (result == SLUICE_SUCCESS) result = table.enqueue_ticket(queue.get(), &ticket);
  if (result == SLUICE_SUCCESS) result = table.wait_ticket(queue.get(), ticket);
  if (result == SLUICE_SUCCESS) return {};
  Status status = place.backend->check(result, fmt::format("copy {} pieces", pieces.size()));
  queue.discard();
  return status;
}

}  // namespace sluice::device
