// SPDX-License-Identifier: BSD-3-Clause
#include "plan/segments.hpp"

#include <fmt/format.h>

namespace sluice::plan {

std::string explain(int n_ranks, const SegmentQuery &query, const SegmentPlan &plan) {
  const std::string how = plan.n_segments == 1 ? "whole" : fmt::format("{} segments", plan.n_segments);
  const std::string what = query.lengths == SegmentLengths::kEqual
                               ? fmt::format("{} x {} bytes", query.n_blocks, query.block_bytes)
                               : fmt::format("unequal blocks, at most {} bytes a buffer", query.longest_bytes);
  return fmt::format("{} ranks, {} -> {}: {}", n_ranks, what, how, plan.reason);
}

}  // namespace sluice::plan
