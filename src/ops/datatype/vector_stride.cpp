// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/vector_stride.hpp"

#include <algorithm>
#include <limits>

#include "wire/host.hpp"

namespace sluice::ops {
namespace {

struct Bounds {
  std::int64_t low = std::numeric_limits<std::int64_t>::max();   // of the first byte
  std::int64_t high = std::numeric_limits<std::int64_t>::min();  // behind the last one
};

// Of `length` parts in a row, 1 or more. False: an address overflows.
bool bounds_of(const Part &part, std::int64_t length, Bounds *bounds) {
  for (const transfer::Block &block : part.blocks->blocks()) {
    bounds->low = std::min(bounds->low, block.offset_bytes);
    bounds->high = std::max(bounds->high, block.offset_bytes + static_cast<std::int64_t>(block.size_bytes));
  }
  std::int64_t last = 0;
  return !__builtin_mul_overflow(length - 1, part.extent_bytes, &last) &&
         !__builtin_add_overflow(bounds->low, std::min<std::int64_t>(last, 0), &bounds->low) &&
         !__builtin_add_overflow(bounds->high, std::max<std::int64_t>(last, 0), &bounds->high);
}

}  // namespace

Status take_stride_of_host(MPI_Datatype type, const Part &part, TypeContents *contents) {
  const bool is_in_extents = contents->combiner == MPI_COMBINER_VECTOR;
  if ((!is_in_extents && contents->combiner != MPI_COMBINER_HVECTOR) || contents->numbers.size() < 3) return {};
  const std::int64_t count = contents->numbers[0];
  const std::int64_t length = contents->numbers[1];
  std::int64_t stride_bytes = 0;
  if (__builtin_mul_overflow(contents->numbers[2], is_in_extents ? part.extent_bytes : 1, &stride_bytes) ||
      stride_bytes != -1 || count < 2 || length < 1 || part.blocks->blocks().empty()) {
    return {};
  }
  Bounds block;
  if (!bounds_of(part, length, &block)) return {};
  MPI_Count low = 0;
  MPI_Count extent = 0;
  const int result = wire::host().MPI_Type_get_true_extent_x(type, &low, &extent);
  if (result != MPI_SUCCESS) return host_refused("MPI_Type_get_true_extent_x", result);
  // The last block is the lowest, or else the highest.
  const std::int64_t way = low < block.low ? low - block.low : low + extent - block.high;
  if (way == 1 - count || way % (count - 1) != 0) return {};
  contents->combiner = MPI_COMBINER_HVECTOR;
  contents->numbers[2] = way / (count - 1);
  return {};
}

}  // namespace sluice::ops
