// SPDX-License-Identifier: BSD-3-Clause
// RelayRing: exportable device memory of Sluice's own, through which a peer on this node is sent what lies in memory
// that it cannot map.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "device/device_memory.hpp"
#include "device/ipc_exports.hpp"
#include "device/place.hpp"
#include "transfer/relay.hpp"

namespace sluice::ops {

// The slots of one peer and one device. A peer has its own: the slots that a message waits for are held by messages to
// the same peer, which serves all of them whenever it serves one.
class RelayRing {
 public:
  // Those of `peer`, of MPI_COMM_WORLD, on the device of `place`; taken and exported by the first call, and held until
  // release_device_memory(). Blocks then. Errors: no memory, or none that can be exported; asked for anew only after
  // kRest further calls. Any thread.
  [[nodiscard]] static Status find(int peer, const device::Place &place, std::shared_ptr<RelayRing> *ring);

  // What the peer needs to map the slots.
  [[nodiscard]] const device::Exported &exported() const noexcept { return exported_; }
  [[nodiscard]] std::byte *data() const noexcept { return memory_.data(); }
  [[nodiscard]] std::byte *slot(std::uint32_t number) const noexcept {
    return memory_.data() + number * transfer::kRelayBlockBytes;
  }

  // Takes a slot that nobody has; false: there is none. Gives it back. Any thread; hot.
  [[nodiscard]] bool take(std::uint32_t *number) noexcept;
  void give(std::uint32_t number) noexcept { taken_.fetch_and(~(1U << number), std::memory_order_release); }

 private:
  static constexpr std::uint32_t kRest = 256;
  static_assert(transfer::kRelaySlots < 32);
  [[nodiscard]] Status open(const device::Place &place);

  device::DeviceMemory memory_;
  device::Exported exported_;
  std::atomic<std::uint32_t> taken_{0};  // a bit for each slot
};

}  // namespace sluice::ops
