// SPDX-License-Identifier: BSD-3-Clause
// Where the bytes of a message with gaps lie.
#include "bench/memory/message_layout.hpp"

#include <algorithm>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kDoubleBytes = 8;
constexpr std::uint64_t kIntBytes = 4;

// Pieces of equal size, `stride_bytes` apart.
MessageLayout strided(std::uint64_t n, std::uint64_t block_bytes, std::uint64_t stride_bytes, std::uint64_t first) {
  MessageLayout layout{n * block_bytes, first + (n - 1) * stride_bytes + block_bytes, {}};
  layout.pieces.reserve(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    layout.pieces.push_back({first + i * stride_bytes, block_bytes});
  }
  return layout;
}

// Rows in the middle of a two-dimensional array, which has a row more on each side.
MessageLayout rows_of(const DerivedType &type, std::uint64_t n, std::uint64_t block_bytes) {
  const std::uint64_t first = type.stride_bytes + (type.stride_bytes - block_bytes) / 2;
  MessageLayout layout = strided(n, block_bytes, type.stride_bytes, first);
  layout.extent_bytes = (n + 2) * type.stride_bytes;
  return layout;
}

// Half a block and one and a half in turn; of each two, the one that travels first lies behind the other.
MessageLayout uneven(const DerivedType &type, std::uint64_t n, std::uint64_t block_bytes) {
  const std::uint64_t small = std::max<std::uint64_t>(block_bytes / 2, 1);
  const std::uint64_t large = 2 * block_bytes - small;
  const std::uint64_t gap = type.stride_bytes - block_bytes;
  MessageLayout layout{n * block_bytes, n * block_bytes + (n - 1) * gap, {}};
  for (std::uint64_t i = 0; i + 1 < n; i += 2) {
    const std::uint64_t begin = i * type.stride_bytes;
    layout.pieces.push_back({begin + large + gap, small});
    layout.pieces.push_back({begin, large});
  }
  if (n % 2 == 1) {
    layout.pieces.push_back({(n - 1) * type.stride_bytes, block_bytes});
  }
  return layout;
}

MessageLayout records(const DerivedType &type, std::uint64_t n, std::uint64_t block_bytes) {
  const RecordLayout record = record_of(type, block_bytes);
  MessageLayout layout{n * block_bytes, n * type.stride_bytes, {}};
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t begin = i * type.stride_bytes;
    if (const std::uint64_t numbers = record.n_doubles * kDoubleBytes + record.n_ints * kIntBytes; numbers > 0) {
      layout.pieces.push_back({begin, numbers});
    }
    layout.pieces.push_back({begin + record.chars_offset, record.n_chars});
  }
  return layout;
}

}  // namespace

MessageLayout contiguous_layout(std::uint64_t size_bytes) {
  MessageLayout layout{size_bytes, size_bytes, {}};
  if (size_bytes > 0) {
    layout.pieces.push_back({0, size_bytes});
  }
  return layout;
}

std::uint64_t block_bytes_of(const DerivedType &type, std::uint64_t size_bytes) {
  return std::min(type.block_bytes, size_bytes);
}

std::uint64_t n_blocks_of(const DerivedType &type, std::uint64_t size_bytes) {
  return size_bytes == 0 ? 0 : size_bytes / block_bytes_of(type, size_bytes);
}

RecordLayout record_of(const DerivedType &type, std::uint64_t record_bytes) {
  constexpr std::uint64_t kOfEach = 16;  // a double, an int and four chars
  const std::uint64_t n = record_bytes / kOfEach;
  const std::uint64_t numbers = n * (kDoubleBytes + kIntBytes);
  return {n, n, record_bytes - numbers, numbers + (type.stride_bytes - record_bytes) / 2};
}

MessageLayout layout_of(const DerivedType &type, std::uint64_t size_bytes) {
  const std::uint64_t n = n_blocks_of(type, size_bytes);
  if (n == 0) {
    return contiguous_layout(0);
  }
  const std::uint64_t block_bytes = block_bytes_of(type, size_bytes);
  switch (type.kind) {
    case TypeKind::vector:
      return strided(n, block_bytes, type.stride_bytes, 0);
    case TypeKind::subarray:
      return rows_of(type, n, block_bytes);
    case TypeKind::hindexed:
      return uneven(type, n, block_bytes);
    case TypeKind::structure:
      return records(type, n, block_bytes);
    default:
      return contiguous_layout(size_bytes);
  }
}

}  // namespace sluice::bench
