// SPDX-License-Identifier: BSD-3-Clause
// Place: what a buffer is and whose it is. classify() is "between a pointer and a backend". All of it: any thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "base/types.hpp"
#include "device/backend.hpp"

namespace sluice::device {

// Where an address lies. Valid at the moment it was asked for: the program may free the memory afterwards.
struct Place {
  MemoryKind kind = MemoryKind::kHost;
  const Backend *backend = nullptr;  // null for plain host memory
  std::int32_t device = -1;
  std::uint64_t allocation_id = 0;

  // The device to ask for what it can and to queue on: memory that belongs to none counts as the first one's.
  [[nodiscard]] std::int32_t device_index() const noexcept { return device < 0 ? 0 : device; }
};

// Asks the loaded backends about `address` (interior addresses too), in order of priority. Nothing is remembered
// between calls, so the answer cannot be stale: memory freed and allocated again at the same address is seen as what it
// is now; what is quick about it is each backend's own look-up. Null is host memory. Hot: without a backend, two loads.
// Errors: a backend's query fails; *place is left as host.
[[nodiscard]] Status classify(const void *address, Place *place) noexcept;

// The loaded backends, by priority. Without any, classify() answers host. Hot, but each call looks for libraries that
// have come into the process. So an operation looks once, and classifies with the backends that it saw.
using Backends = std::span<Backend *const>;
[[nodiscard]] Backends loaded_backends() noexcept;
// The same as at the last look: for the rest of a call that has looked. Hot.
[[nodiscard]] Backends known_backends() noexcept;
// As classify() above, by the backends of such a look. Errors: the same.
[[nodiscard]] Status classify(const void *address, Backends backends, Place *place) noexcept;

}  // namespace sluice::device
