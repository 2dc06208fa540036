// SPDX-License-Identifier: BSD-3-Clause
#include "device/identity.hpp"

#include <array>
#include <cstring>
#include <string_view>

namespace sluice::device {
namespace {

// FNV-1a. A node has a few dozen addresses, which differ in it.
std::uint64_t hash(std::string_view text) noexcept {
  std::uint64_t result = 0xcbf29ce484222325U;
  for (const char letter : text) result = (result ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return result;
}

std::uint64_t find_identity(const Backend &backend, std::int32_t device) noexcept {
  sluice_device_info_t info{};
  if (backend.table().device_info(device, &info) != SLUICE_SUCCESS) return 0;
  const std::string_view address(info.pci_address, strnlen(info.pci_address, sizeof info.pci_address));
  return address.empty() ? 0 : hash(address);
}

}  // namespace

std::uint64_t identity_of(const Place &place) noexcept {
  if (place.backend == nullptr) return 0;
  struct Known {
    const Backend *backend = nullptr;
    std::int32_t device = 0;
    std::uint64_t identity = 0;
  };
  constexpr std::size_t kKept = 16;
  thread_local std::array<Known, kKept> all;
  const std::int32_t device = place.device_index();
  Known &known = all[static_cast<std::size_t>(device) % kKept];
  if (known.backend != place.backend || known.device != device) {
    known = {place.backend, device, find_identity(*place.backend, device)};
  }
  return known.identity;
}

}  // namespace sluice::device
