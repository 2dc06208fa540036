// SPDX-License-Identifier: BSD-3-Clause
#include "device/place.hpp"

#include "device/registry.hpp"

namespace sluice::device {

bool has_backends() noexcept {
  return !Registry::process().backends().empty();
}

Status classify(const void *address, Place *place) noexcept {
  *place = Place();
  if (address == nullptr) return {};
  for (const Backend *backend : Registry::process().backends()) {
    sluice_pointer_info_t info{};
    const sluice_result_t result = backend->table().query_pointer(address, &info);
    if (result != SLUICE_SUCCESS) return backend->check(result, "tell what a buffer is");
    if (info.kind == SLUICE_MEMORY_HOST) continue;
    *place = {static_cast<MemoryKind>(info.kind), backend, info.device, info.allocation_id};
    break;
  }
  return {};
}

}  // namespace sluice::device
