// SPDX-License-Identifier: BSD-3-Clause
// Packing by hand: what a program does that does not trust its MPI with derived datatypes.
#pragma once

#include <sluice/backend.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "bench/cli/family_options.hpp"
#include "bench/memory/device_queue.hpp"
#include "bench/memory/message_layout.hpp"
#include "bench/memory/pack_kernel.hpp"

namespace sluice::bench {

// Moves a message between its own memory and contiguous memory of the same kind. Memory that the CPU reaches at its own
// speed (host, pinned) is copied by it, other memory by the device: by one kernel, or all pieces as one batch of
// copies. One thread.
class Packer {
 public:
  // module: may be null for host memory, else outlives the packer. wanted: whether it is a kernel; PackWay::either
  // where the device has one. Throws DeviceError, as all functions.
  Packer(DeviceModule *module, sluice_memory_kind_t kind, const MessageLayout &layout, PackWay wanted);

  // Blocking. message: its first address; packed: the layout's size_bytes. They do not overlap.
  void pack(std::byte *packed, std::byte *message);
  void unpack(std::byte *message, std::byte *packed);

  // Who packs: "cpu", "kernel" or "copies"; what was found when it last did.
  const char *way() const;

 private:
  void move(std::byte *message, std::byte *packed, sluice_pack_direction_t direction);
  bool move_by_kernel(std::byte *message, std::byte *packed, sluice_pack_direction_t direction);

  std::vector<Piece> pieces_;  // with neighbours made one
  std::uint64_t size_bytes_;
  PackWay wanted_;
  std::optional<DeviceQueue> queue_;
  std::unique_ptr<PackKernel> kernel_;  // null: copies
  std::vector<sluice_copy_t> copies_;
};

}  // namespace sluice::bench
