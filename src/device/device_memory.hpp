// SPDX-License-Identifier: BSD-3-Clause
// DeviceMemory: memory of a device that is Sluice's own: for packed payloads, and for lists that kernels read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "device/place.hpp"

namespace sluice::device {

// A block of memory of one device. Movable. Given back when destroyed, by any thread; nothing may use it then.
// One thread at a time.
class DeviceMemory {
 public:
  DeviceMemory() noexcept = default;
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  ~DeviceMemory() { reset(); }

  // Takes at least `size_bytes` (> 0) on the device of `place`, whose backend has the group `pack`; aligned to 256.
  // Blocks that were given back are kept, 256 MiB in all, and one that fits is taken first: hot
  // then, else the runtime's allocation, which may wait for its device. Errors: no memory. Any thread.
  [[nodiscard]] Status acquire(const Place &place, std::size_t size_bytes);

  // Null when empty.
  [[nodiscard]] std::byte *data() const noexcept { return data_; }
  // False for an empty one, and after release_device_memory(): then the memory is gone. Hot.
  [[nodiscard]] bool is_live() const noexcept;
  void reset() noexcept;

 private:
  std::byte *data_ = nullptr;
  std::uint64_t generation_ = 0;
};

// Frees everything, what is still held too. Before the backends are shut down, when nothing is under way any more.
// One thread.
void release_device_memory() noexcept;

}  // namespace sluice::device
