// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/strided.hpp"

#include <algorithm>

#include "transfer/pieces.hpp"

namespace sluice::transfer {
namespace {

// Calls `visit(memory, bytes)` for each run, neighbours merged; `visit` returns whether to go on.
template <typename Visit>
void for_each_merged_run(const Region &region, Visit visit) {
  std::byte *begin = nullptr;
  std::uint64_t size = 0;
  bool goes_on = true;
  for_each_run(region, region.size_bytes(), [&](std::byte *memory, std::uint64_t /*position*/, std::uint64_t bytes) {
    if (size != 0 && begin + size == memory) {
      size += bytes;
      return true;
    }
    if (size != 0) goes_on = visit(begin, size);
    begin = memory;
    size = bytes;
    return goes_on;
  });
  if (goes_on && size != 0) visit(begin, size);
}

}  // namespace

bool StridedBlock::is_within(std::uint64_t allocation_bytes) const noexcept {
  if (n_runs == 0) return true;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
  if (allocation_bytes > kMostBytes || n_runs > kMostRuns || run_bytes == 0 || run_bytes > allocation_bytes ||
      run_bytes > kMostBytes / n_runs || offset_bytes > allocation_bytes - run_bytes) {
    return false;
  }
  std::int64_t last = 0;
  if (__builtin_mul_overflow(static_cast<std::int64_t>(n_runs - 1), stride_bytes, &last) ||
      __builtin_add_overflow(last, static_cast<std::int64_t>(offset_bytes), &last)) {
    return false;
  }
  return last >= 0 && static_cast<std::uint64_t>(last) <= allocation_bytes - run_bytes;
}

std::uint64_t count_runs(const Region &region) {
  std::uint64_t n_runs = 0;
  for_each_merged_run(region, [&](const std::byte *, std::uint64_t) { return ++n_runs <= kMostRuns; });
  return n_runs;
}

bool describe(const Region &region, const std::byte *base, StridedBlock *block) {
  *block = {};
  bool is_regular = true;
  std::int64_t last_offset = 0;
  for_each_merged_run(region, [&](const std::byte *memory, std::uint64_t bytes) {
    const std::int64_t offset = memory - base;
    if (block->n_runs == 0) {
      block->offset_bytes = static_cast<std::uint64_t>(offset);
      block->run_bytes = bytes;
    } else if (block->n_runs == 1) {
      block->stride_bytes = offset - last_offset;
    }
    is_regular = bytes == block->run_bytes && block->n_runs < kMostRuns &&
                 (block->n_runs == 0 || offset - last_offset == block->stride_bytes);
    last_offset = offset;
    ++block->n_runs;
    return is_regular;
  });
  return is_regular;
}

void add_copies(const StridedBlock &block, const std::byte *base, const Region &region,
                std::vector<sluice_copy_t> *copies) {
  const std::size_t first = copies->size();
  for_each_run(region, block.size_bytes(), [&](std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    while (bytes != 0) {
      const std::uint64_t run = position / block.run_bytes;
      const std::uint64_t within = position % block.run_bytes;
      const std::uint64_t size = std::min(bytes, block.run_bytes - within);
      const std::byte *source = base + block.offset_bytes + static_cast<std::int64_t>(run) * block.stride_bytes;
      add_piece(memory, source + within, size, first, copies);
      memory += size;
      position += size;
      bytes -= size;
    }
    return true;
  });
}

}  // namespace sluice::transfer
