// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/assemble.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::ops {
namespace {

using Numbers = std::vector<std::int64_t>;

// Constructors of MPI-1, which only Fortran could call; Open MPI's header hides their names.
#if defined(MPI_ABI_VERSION)
constexpr int kHvectorInteger = MPI_COMBINER_HVECTOR;
constexpr int kHindexedInteger = MPI_COMBINER_HINDEXED;
constexpr int kStructInteger = MPI_COMBINER_STRUCT;
#elif defined(OMPI_MAJOR_VERSION) && OMPI_OMIT_MPI1_COMPAT_DECLS
constexpr int kHvectorInteger = OMPI_WAS_MPI_COMBINER_HVECTOR_INTEGER;
constexpr int kHindexedInteger = OMPI_WAS_MPI_COMBINER_HINDEXED_INTEGER;
constexpr int kStructInteger = OMPI_WAS_MPI_COMBINER_STRUCT_INTEGER;
#else
constexpr int kHvectorInteger = MPI_COMBINER_HVECTOR_INTEGER;
constexpr int kHindexedInteger = MPI_COMBINER_HINDEXED_INTEGER;
constexpr int kStructInteger = MPI_COMBINER_STRUCT_INTEGER;
#endif

// What is true of an empty list may not be asked of one that is too short.
enum class Outcome : std::uint8_t { kDone, kTooLarge, kNonsense };

Outcome done_if(bool fits) {
  return fits ? Outcome::kDone : Outcome::kTooLarge;
}

// n + offset numbers are there, for an n that came from the host MPI.
bool has(const Numbers &numbers, std::int64_t n, std::size_t offset) {
  return n >= 0 && numbers.size() >= offset && static_cast<std::uint64_t>(n) <= numbers.size() - offset;
}

std::size_t index_of(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// count, blocklength, stride.
Outcome add_vector(const Numbers &numbers, const Part &part, std::int64_t stride_unit, BlockList *blocks) {
  if (numbers.size() < 3) return Outcome::kNonsense;
  std::int64_t stride_bytes = 0;
  if (__builtin_mul_overflow(numbers[2], stride_unit, &stride_bytes)) return Outcome::kTooLarge;
  BlockList run;
  return done_if(run.append_copies(*part.blocks, numbers[1], part.extent_bytes, 0) &&
                 blocks->append_copies(run, numbers[0], stride_bytes, 0));
}

// count, count blocklengths, count displacements.
Outcome add_indexed(const Numbers &numbers, const Part &part, std::int64_t displacement_unit, BlockList *blocks) {
  const std::int64_t n = numbers.empty() ? -1 : numbers[0];
  if (!has(numbers, n, 1) || !has(numbers, n, 1 + index_of(n))) return Outcome::kNonsense;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t offset = 0;
    if (__builtin_mul_overflow(numbers[index_of(1 + n + k)], displacement_unit, &offset) ||
        !blocks->append_copies(*part.blocks, numbers[index_of(1 + k)], part.extent_bytes, offset)) {
      return Outcome::kTooLarge;
    }
  }
  return Outcome::kDone;
}

// count, blocklength, count displacements.
Outcome add_indexed_block(const Numbers &numbers, const Part &part, std::int64_t displacement_unit, BlockList *blocks) {
  if (numbers.size() < 2 || !has(numbers, numbers[0], 2)) return Outcome::kNonsense;
  BlockList run;
  if (!run.append_copies(*part.blocks, numbers[1], part.extent_bytes, 0)) return Outcome::kTooLarge;
  for (std::int64_t k = 0; k < numbers[0]; ++k) {
    std::int64_t offset = 0;
    if (__builtin_mul_overflow(numbers[index_of(2 + k)], displacement_unit, &offset) ||
        !blocks->append_copies(run, 1, 0, offset)) {
      return Outcome::kTooLarge;
    }
  }
  return Outcome::kDone;
}

// count, count blocklengths, count displacements; a part each.
Outcome add_struct(const Numbers &numbers, const std::vector<Part> &parts, BlockList *blocks) {
  const std::int64_t n = numbers.empty() ? -1 : numbers[0];
  if (!has(numbers, n, 1) || !has(numbers, n, 1 + index_of(n)) || parts.size() < index_of(n)) {
    return Outcome::kNonsense;
  }
  for (std::int64_t k = 0; k < n; ++k) {
    const Part &part = parts[index_of(k)];
    if (!blocks->append_copies(*part.blocks, numbers[index_of(1 + k)], part.extent_bytes,
                               numbers[index_of(1 + n + k)])) {
      return Outcome::kTooLarge;
    }
  }
  return Outcome::kDone;
}

// One dimension of an array of which a part is taken: runs of (first index, number of indices), ascending.
struct Dimension {
  std::int64_t size = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
};

// Puts the array together, the dimension that varies fastest first (MPI 4.1, section 5.1.3).
Outcome add_array(std::vector<Dimension> dimensions, int order, const Part &part, BlockList *blocks) {
  if (order == MPI_ORDER_C) std::reverse(dimensions.begin(), dimensions.end());
  BlockList inner = *part.blocks;
  std::int64_t stride_bytes = part.extent_bytes;
  for (const Dimension &dimension : dimensions) {
    BlockList outer;
    for (const auto &[first, count] : dimension.runs) {
      std::int64_t offset = 0;
      if (__builtin_mul_overflow(first, stride_bytes, &offset) ||
          !outer.append_copies(inner, count, stride_bytes, offset)) {
        return Outcome::kTooLarge;
      }
    }
    inner = std::move(outer);
    if (__builtin_mul_overflow(stride_bytes, dimension.size, &stride_bytes)) return Outcome::kTooLarge;
  }
  return done_if(blocks->append_copies(inner, 1, 0, 0));
}

Outcome add_subarray(const TypeContents &contents, const Part &part, BlockList *blocks) {
  if (contents.modes.size() < 2 || contents.modes[0] < 0 || contents.numbers.size() < 3 * index_of(contents.modes[0])) {
    return Outcome::kNonsense;
  }
  const std::size_t n = index_of(contents.modes[0]);
  std::vector<Dimension> dimensions(n);
  for (std::size_t d = 0; d < n; ++d) {
    dimensions[d].size = contents.numbers[d];
    dimensions[d].runs = {{contents.numbers[2 * n + d], contents.numbers[n + d]}};
  }
  return add_array(std::move(dimensions), static_cast<int>(contents.modes[1]), part, blocks);
}

// The indices that process `coordinate` of `n_processes` owns of `size`; MPI 4.1, section 5.1.4.
Outcome distribute(std::int64_t size, int distribution, std::int64_t argument, std::int64_t n_processes,
                   std::int64_t coordinate, Dimension *dimension) {
  dimension->size = size;
  if (distribution == MPI_DISTRIBUTE_NONE || n_processes == 1) {
    dimension->runs = {{0, size}};
    return Outcome::kDone;
  }
  const bool is_block = distribution == MPI_DISTRIBUTE_BLOCK;
  const bool is_default = argument == MPI_DISTRIBUTE_DFLT_DARG;
  const std::int64_t run = !is_default ? argument : is_block ? (size + n_processes - 1) / n_processes : 1;
  std::int64_t period = 0;
  if (run <= 0) return size == 0 ? Outcome::kDone : Outcome::kNonsense;
  if (__builtin_mul_overflow(run, n_processes, &period)) return Outcome::kTooLarge;
  for (std::int64_t first = coordinate * run; first < size; first += period) {
    if (dimension->runs.size() == BlockList::kMostBlocks) return Outcome::kTooLarge;
    dimension->runs.emplace_back(first, std::min(run, size - first));
    if (is_block || period > size - first) break;
  }
  return Outcome::kDone;
}

Outcome add_darray(const TypeContents &contents, const Part &part, BlockList *blocks) {
  constexpr std::size_t kHead = 3;
  const Numbers &modes = contents.modes;
  if (modes.size() < kHead || modes[2] < 0) return Outcome::kNonsense;
  const std::size_t n = index_of(modes[2]);
  if (modes.size() < kHead + 3 * n + 1 || contents.numbers.size() < n) return Outcome::kNonsense;
  const auto distribution = [&](std::size_t d) { return static_cast<int>(modes[kHead + d]); };
  const auto argument = [&](std::size_t d) { return modes[kHead + n + d]; };
  const auto grid = [&](std::size_t d) { return modes[kHead + 2 * n + d]; };
  std::vector<Dimension> dimensions(n);
  std::int64_t rank = modes[1];
  for (std::size_t d = n; d-- > 0;) {  // the grid of processes counts in C order, whatever the order of the array
    if (grid(d) <= 0) return Outcome::kNonsense;
    const Outcome outcome =
        distribute(contents.numbers[d], distribution(d), argument(d), grid(d), rank % grid(d), &dimensions[d]);
    if (outcome != Outcome::kDone) return outcome;
    rank /= grid(d);
  }
  return add_array(std::move(dimensions), static_cast<int>(modes[kHead + 3 * n]), part, blocks);
}

// The headers of Open MPI, and those of MPI 4.0, have no such name.
#if !defined(OMPI_MAJOR_VERSION) && MPI_VERSION * 10 + MPI_SUBVERSION >= 41
#define SLUICE_HAS_VALUE_INDEX
// MPI 4.1, section 6.9.4: the C structure of a value and an index.
Outcome add_value_index(const std::vector<Part> &parts, BlockList *blocks) {
  if (parts.size() < 2) return Outcome::kNonsense;
  const auto value_bytes = static_cast<std::int64_t>(parts[0].blocks->size_bytes());
  const auto index_bytes = static_cast<std::int64_t>(parts[1].blocks->size_bytes());
  if (index_bytes <= 0) return Outcome::kNonsense;
  const std::int64_t offset = (value_bytes + index_bytes - 1) / index_bytes * index_bytes;
  return done_if(blocks->append_copies(*parts[0].blocks, 1, 0, 0) &&
                 blocks->append_copies(*parts[1].blocks, 1, 0, offset));
}
#endif

Outcome add(const TypeContents &contents, const std::vector<Part> &parts, BlockList *blocks) {
  const int combiner = contents.combiner;
  const Numbers &numbers = contents.numbers;
  // NOLINTNEXTLINE(misc-redundant-expression): one and the same only where the interface has no constructors of MPI-1
  if (combiner == MPI_COMBINER_STRUCT || combiner == kStructInteger) return add_struct(numbers, parts, blocks);
  if (parts.empty()) return Outcome::kNonsense;
  const Part &part = parts[0];
  if (combiner == kHvectorInteger) return add_vector(numbers, part, 1, blocks);
  if (combiner == kHindexedInteger) return add_indexed(numbers, part, 1, blocks);
  switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return done_if(blocks->append_copies(*part.blocks, 1, 0, 0));
    case MPI_COMBINER_CONTIGUOUS:
      if (numbers.empty()) return Outcome::kNonsense;
      return done_if(blocks->append_copies(*part.blocks, numbers[0], part.extent_bytes, 0));
    case MPI_COMBINER_VECTOR:
      return add_vector(numbers, part, part.extent_bytes, blocks);
    case MPI_COMBINER_HVECTOR:
      return add_vector(numbers, part, 1, blocks);
    case MPI_COMBINER_INDEXED:
      return add_indexed(numbers, part, part.extent_bytes, blocks);
    case MPI_COMBINER_HINDEXED:
      return add_indexed(numbers, part, 1, blocks);
    case MPI_COMBINER_INDEXED_BLOCK:
      return add_indexed_block(numbers, part, part.extent_bytes, blocks);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return add_indexed_block(numbers, part, 1, blocks);
    case MPI_COMBINER_SUBARRAY:
      return add_subarray(contents, part, blocks);
    case MPI_COMBINER_DARRAY:
      return add_darray(contents, part, blocks);
#ifdef SLUICE_HAS_VALUE_INDEX
    case MPI_COMBINER_VALUE_INDEX:
      return add_value_index(parts, blocks);
#endif
    default:
      return Outcome::kNonsense;
  }
}

}  // namespace

Status assemble(const TypeContents &contents, const std::vector<Part> &parts, BlockList *blocks) {
  switch (add(contents, parts, blocks)) {
    case Outcome::kDone:
      return {};
    case Outcome::kTooLarge:
      return Status::error(ErrorKind::kUnsupported,
                           "a datatype of device data has more than " + std::to_string(BlockList::kMostBlocks) +
                               " separate blocks, or its addresses overflow; send it in parts");
    case Outcome::kNonsense:
      break;
  }
  return Status::error(ErrorKind::kUnsupported,
                       "a datatype of device data was made by a constructor that Sluice cannot follow (combiner " +
                           std::to_string(contents.combiner) + "); use another type, or send from host memory");
}

}  // namespace sluice::ops
