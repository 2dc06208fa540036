// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/reduction_steps.hpp"

#include <algorithm>

namespace sluice::transfer {
namespace {

// Long enough for whole vectors and lines of memory; a message that is shorter is one rank's alone.
constexpr std::uint64_t kShareBytes = 512;

}  // namespace

void add_reduction(std::span<const void *const> sources, std::span<void *const> dsts, std::uint64_t count,
                   std::size_t most_operands, std::vector<ReductionStep> *steps) {
  if (count == 0) return;
  void *const so_far = dsts.front();
  std::size_t n_read = std::min(sources.size(), most_operands);
  std::vector<const void *> now(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(n_read));
  while (n_read < sources.size()) {
    steps->push_back({{so_far}, std::move(now), count});
    now = {so_far};
    for (; n_read < sources.size() && now.size() < most_operands; ++n_read) now.push_back(sources[n_read]);
  }
  // The last one writes as many as it can, and what it has written first is handed on to the others.
  for (std::size_t n_written = 0; n_written < dsts.size(); now = {so_far}) {
    const auto rest = dsts.subspan(n_written, std::min(most_operands, dsts.size() - n_written));
    n_written += rest.size();
    steps->push_back({{rest.begin(), rest.end()}, std::move(now), count});
  }
}

Share share_of(std::uint64_t count, std::uint64_t element_bytes, std::uint64_t n_shares, std::uint64_t index) noexcept {
  if (count == 0) return {};
  const std::uint64_t unit = std::max<std::uint64_t>(1, kShareBytes / element_bytes);
  const std::uint64_t n_units = count / unit + (count % unit != 0 ? 1 : 0);
  const std::uint64_t units_each = n_units / n_shares + (n_units % n_shares != 0 ? 1 : 0);
  const std::uint64_t each = units_each * unit;
  const std::uint64_t first = index > count / each ? count : std::min(count, index * each);
  return {first, std::min(count - first, each) + first};
}

}  // namespace sluice::transfer
