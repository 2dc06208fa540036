// SPDX-License-Identifier: BSD-3-Clause
// BlockList: the blocks of a datatype while it is put together, without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transfer/layout.hpp"

namespace sluice::ops {

// Blocks in the order in which their bytes travel. A block that begins where the last one ends becomes part of it, and
// no other ones are merged: the order is what MPI promises. One thread at a time.
class BlockList {
 public:
  // The most separate blocks of one datatype: 1 GiB of them.
  static constexpr std::size_t kMostBlocks = std::size_t{64} << 20;

  // Adds a run of `size_bytes` (0: nothing) at `offset_bytes`. False: too many blocks, or an address overflows; the
  // list is then of no use.
  [[nodiscard]] bool append(std::int64_t offset_bytes, std::uint64_t size_bytes);

  // Adds `n_copies` of `element`, the first at `offset_bytes`, each `stride_bytes` after the one before. Copies that
  // touch each other cost the same, however many they are. False as for append.
  [[nodiscard]] bool append_copies(const BlockList &element, std::int64_t n_copies, std::int64_t stride_bytes,
                                   std::int64_t offset_bytes);

  [[nodiscard]] const std::vector<transfer::Block> &blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }

 private:
  std::vector<transfer::Block> blocks_;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace sluice::ops
