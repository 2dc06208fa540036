// SPDX-License-Identifier: BSD-3-Clause
// Packing by one kernel of the device.
#pragma once

#include <sluice/backend.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bench/memory/device_queue.hpp"
#include "bench/memory/message_layout.hpp"

namespace sluice::bench {

// What a kernel is told of pieces: one run of bytes or a list of few pieces, repeated at equal distances. A pure
// description; the list's address stays open.
struct PackShape {
  sluice_layout_t layout{};
  std::uint64_t origin_offset = 0;  // of the first core, from the message's first address
  std::int64_t lowest_bytes = 0;    // from there to the lowest byte
  std::uint64_t span_bytes = 0;
  std::vector<std::uint32_t> list;  // the words of sluice_layout_t::list; none for a run
};

// The shape of pieces, of which there is at least one. None where numbers of a list need more than 32 bits.
std::optional<PackShape> shape_of(std::span<const Piece> pieces);

// The kernel of the module's selected device for one shape. One thread.
class PackKernel {
 public:
  static bool is_there(const DeviceModule &module);

  // is_there(). module outlives this. Throws DeviceError, as all functions.
  PackKernel(DeviceModule &module, PackShape shape);
  PackKernel(const PackKernel &) = delete;
  PackKernel &operator=(const PackKernel &) = delete;
  ~PackKernel();

  // Returns before it is done. size_bytes: of the data. False: the device has no kernel for this memory, and nothing
  // was enqueued.
  bool enqueue(DeviceQueue &queue, sluice_pack_direction_t direction, std::byte *message, std::byte *packed,
               std::uint64_t size_bytes);

 private:
  DeviceModule &module_;
  PackShape shape_;
  void *list_ = nullptr;
};

}  // namespace sluice::bench
