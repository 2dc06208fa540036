// SPDX-License-Identifier: BSD-3-Clause
// PackedBlocks: blocks of which others cannot be told where they lie, brought together one after the other in device
// memory of Sluice's own, where others read them. Without MPI.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "device/device_memory.hpp"
#include "device/ipc_exports.hpp"
#include "device/place.hpp"
#include "device/queue.hpp"
#include "transfer/region.hpp"
#include "transfer/strided.hpp"

namespace sluice::transfer {

// One thread at a time. When destroyed while the blocks are on their way, waits; nobody may read them any more then.
class PackedBlocks {
 public:
  // Takes memory for the payloads of `blocks` on the device of `place`, whose backend has the groups `pack` and `ipc`,
  // and exports it; those without a layout have no bytes, and not all of them have none. Moves nothing. Errors: no
  // memory, or none that can be exported.
  [[nodiscard]] Status open(const device::Place &place, std::vector<Region> blocks);

  // For the others to find the blocks by; once open, and until close().
  [[nodiscard]] const device::Exported &exported() const noexcept { return exported_; }
  // The first byte of the exported allocation.
  [[nodiscard]] const std::byte *base() const noexcept { return memory_.data() - exported_.offset_bytes; }
  // Where each block lies in there; of no bytes those without a layout.
  [[nodiscard]] const std::vector<StridedBlock> &described() const noexcept { return described_; }

  // Enqueues all moves; returns before they are done. Errors: those of the runtime; and with *is_refused the reason why
  // no kernel moves a block, after which none are under way. Blocks only where a kernel is made ready for the first
  // time, and after a refusal.
  [[nodiscard]] Status begin(bool *is_refused);
  // Whether what was begun has ended, well or not; never blocks. Hot.
  [[nodiscard]] Status poll(bool *is_done) { return under_way_.poll(is_done); }
  // Waits for what is under way, and gives the memory back.
  void close() noexcept;

 private:
  [[nodiscard]] Status enqueue(bool *is_refused);

  device::DeviceMemory memory_;  // outlives the moves
  std::vector<Region> blocks_;
  std::vector<StridedBlock> described_;
  device::Exported exported_;
  device::Queue queue_;
  device::PendingCopy under_way_;
};

}  // namespace sluice::transfer
