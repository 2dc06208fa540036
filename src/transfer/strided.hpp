// SPDX-License-Identifier: BSD-3-Clause
// StridedBlock: a block of memory as another process can be told of it in a few numbers: runs of bytes of one length,
// at one distance from each other. Without MPI. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "sluice/backend.h"
#include "transfer/region.hpp"

namespace sluice::transfer {

// Plain numbers, for shared memory; is_within() before it is believed.
struct StridedBlock {
  std::uint64_t offset_bytes = 0;  // of the first run, from the first byte of the allocation
  std::uint64_t run_bytes = 0;
  std::int64_t stride_bytes = 0;  // from one run to the next
  std::uint64_t n_runs = 0;       // 0: a block of no bytes

  // Payload. Of a block that is_within().
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return run_bytes * n_runs; }
  // Every run lies within the first `allocation_bytes` bytes, and their bytes can be counted.
  [[nodiscard]] bool is_within(std::uint64_t allocation_bytes) const noexcept;
};

// A block of more runs is not described: so many small copies take longer than to stage it (a list of copies is walked
// run by run, by the host and by the device).
inline constexpr std::uint64_t kMostRuns = 256;

// How many runs the payload of `region` is, neighbours merged, counted up to kMostRuns + 1.
[[nodiscard]] std::uint64_t count_runs(const Region &region);

// Describes `region`, which lies in the allocation that begins at `base`. False when its runs are too many, or not of
// one length at one distance.
[[nodiscard]] bool describe(const Region &region, const std::byte *base, StridedBlock *block);

// Adds the copies that bring `block`, which lies in the allocation mapped at `base`, into `region` of as many bytes,
// which lies in one allocation too. None of them goes on from a copy that is in the list already.
void add_copies(const StridedBlock &block, const std::byte *base, const Region &region,
                std::vector<sluice_copy_t> *copies);

}  // namespace sluice::transfer
