// SPDX-License-Identifier: BSD-3-Clause
// Which device is which, between processes that number them by themselves.
#pragma once

#include <cstdint>

#include "device/place.hpp"

namespace sluice::device {

// The same number in all processes of a node for the device of `place`, and another one for another device: made of its
// PCI address. 0: it has none, or the backend does not say. Hot but for the first time of a device. Any thread.
[[nodiscard]] std::uint64_t identity_of(const Place &place) noexcept;

}  // namespace sluice::device
