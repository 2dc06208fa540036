// SPDX-License-Identifier: BSD-3-Clause
// Where the bytes of a message with gaps lie: what the checks and the packing by hand know of a derived datatype. MPI
// is given the datatype itself (mpi/message_type.hpp); that both mean the same is what every checked message shows.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/cli/derived_type.hpp"

namespace sluice::bench {

// Bytes that lie together.
struct Piece {
  std::uint64_t offset = 0;  // from the message's first address
  std::uint64_t size_bytes = 0;
};

struct MessageLayout {
  std::uint64_t size_bytes = 0;    // of the data
  std::uint64_t extent_bytes = 0;  // of the memory from the first address to the end of the last piece or gap
  std::vector<Piece> pieces;       // in the order in which the data travel; no two overlap
};

// Data without a gap.
MessageLayout contiguous_layout(std::uint64_t size_bytes);

// size_bytes: 0, up to one block, or whole blocks, as require_whole_blocks() made sure.
MessageLayout layout_of(const DerivedType &type, std::uint64_t size_bytes);

// One element of the `struct` type: doubles, ints behind them, a gap, chars.
struct RecordLayout {
  std::uint64_t n_doubles = 0;
  std::uint64_t n_ints = 0;
  std::uint64_t n_chars = 0;
  std::uint64_t chars_offset = 0;
};
RecordLayout record_of(const DerivedType &type, std::uint64_t record_bytes);

// Blocks in a message, and the bytes of each: one short block, or whole ones.
std::uint64_t block_bytes_of(const DerivedType &type, std::uint64_t size_bytes);
std::uint64_t n_blocks_of(const DerivedType &type, std::uint64_t size_bytes);

}  // namespace sluice::bench
