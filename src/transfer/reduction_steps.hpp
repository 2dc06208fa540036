// SPDX-License-Identifier: BSD-3-Clause
// How a reduction of any number of arrays to any number of places is made of kernels that take a few of each. Without
// MPI. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::transfer {

// One kernel: each dsts[d][i] = sources[0][i] op sources[1][i] op ..., from the left. They run in their order.
struct ReductionStep {
  std::vector<void *> dsts;
  std::vector<const void *> sources;
  std::uint64_t count = 0;
};

// Adds the kernels that put the reduction of `sources`, in their order, into each of `dsts`; none for a count of 0.
// Both lists have at least one entry, and each array `count` elements. Of more sources than `most_operands` (at least
// 2), what there is so far is kept in dsts[0], which then is none of the sources behind the first `most_operands`.
void add_reduction(std::span<const void *const> sources, std::span<void *const> dsts, std::uint64_t count,
                   std::size_t most_operands, std::vector<ReductionStep> *steps);

// Share `index` of `n_shares` of `count` elements of `element_bytes`: [first, last). Shares are cut where vectors are,
// and a share may be empty.
struct Share {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] std::uint64_t count() const noexcept { return last - first; }
};
[[nodiscard]] Share share_of(std::uint64_t count, std::uint64_t element_bytes, std::uint64_t n_shares,
                             std::uint64_t index) noexcept;

}  // namespace sluice::transfer
