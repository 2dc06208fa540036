// SPDX-License-Identifier: BSD-3-Clause
#include "device/place.hpp"

#include "device/registry.hpp"

namespace sluice::device {

Backends loaded_backends() noexcept {
  return Registry::process().backends();
}

Backends known_backends() noexcept {
  return Registry::process().known();
}

Status classify(const void *address, Place *place) noexcept {
  return classify(address, loaded_backends(), place);
}

Status classify(const void *address, Backends backends, Place *place) noexcept {
  *place = Place();
  if (address == nullptr) return {};
  for (const Backend *backend : backends) {
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
