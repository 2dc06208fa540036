// SPDX-License-Identifier: BSD-3-Clause
// Packing by hand: what a program does that does not trust its MPI with derived datatypes.
#pragma once

#include <sluice/backend.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "bench/memory/device_queue.hpp"
#include "bench/memory/message_layout.hpp"

namespace sluice::bench {

// Moves a message between its own memory and contiguous memory of the same kind. Memory that the CPU reaches at its own
// speed (host, pinned) is copied by it, other memory by the device: all pieces as one batch of copies. One thread.
class Packer {
 public:
  // module: may be null for host memory, else outlives the packer. Throws DeviceError, as all functions.
  Packer(DeviceModule *module, sluice_memory_kind_t kind, const MessageLayout &layout);

  // Blocking. message: its first address; packed: the layout's size_bytes. They do not overlap.
  void pack(std::byte *packed, std::byte *message);
  void unpack(std::byte *message, std::byte *packed);

 private:
  void move(std::byte *message, std::byte *packed, bool is_pack);

  std::vector<Piece> pieces_;  // with neighbours made one
  std::optional<DeviceQueue> queue_;
  std::vector<sluice_copy_t> copies_;
};

}  // namespace sluice::bench
