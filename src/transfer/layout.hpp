// SPDX-License-Identifier: BSD-3-Clause
// Layout: which bytes of memory a message consists of, without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::transfer {

// A run of bytes of one element; the offset is from the element's origin (the address given to MPI).
struct Block {
  std::int64_t offset_bytes;
  std::uint64_t size_bytes;
};

class Packing;

// One element of a datatype: its bytes in the order in which they travel, neighbours merged. Nothing changes one that
// messages have: any thread may read it.
struct Layout {
  std::uint64_t size_bytes = 0;   // payload of one element
  std::int64_t extent_bytes = 0;  // from one element to the next
  std::int64_t first_byte = 0;    // offset of the lowest byte: what decides where the buffer lies
  std::int64_t end_byte = 0;      // offset behind the highest byte
  bool is_contiguous = true;      // elements one after the other are one run of bytes from the origin on
  std::vector<Block> blocks;      // empty when is_contiguous
  // What kernels need to know of the blocks, found when it is needed; null when is_contiguous.
  std::shared_ptr<const Packing> packing;
  // Of the blocks; 0 when is_contiguous.
  std::uint64_t shortest_bytes = 0;
  std::uint64_t longest_bytes = 0;

  // The layout of a basic type of `size` bytes.
  static Layout basic(std::uint64_t size) {
    const auto bytes = static_cast<std::int64_t>(size);
    return {size, bytes, 0, bytes, true, {}, nullptr, 0, 0};
  }
};

// The address that lies `offset_bytes` from `origin`. MPI_BOTTOM is a null pointer, to which the language allows
// nothing to be added.
[[nodiscard]] inline std::byte *at(std::byte *origin, std::int64_t offset_bytes) noexcept {
  return reinterpret_cast<std::byte *>(reinterpret_cast<std::intptr_t>(origin) + offset_bytes);
}

using LayoutPtr = std::shared_ptr<const Layout>;

}  // namespace sluice::transfer
