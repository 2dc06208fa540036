// SPDX-License-Identifier: BSD-3-Clause
#include "plan/segments.hpp"

#include <fmt/format.h>

namespace sluice::plan {

std::optional<SegmentQuery> segment_query(const CallFacts &facts, const CollectiveTerms &terms) noexcept {
  SegmentQuery query;
  query.threshold_bytes = terms.segments_threshold_bytes;
  query.segment_bytes = terms.segment_bytes;
  if (facts.has_lengths && facts.pattern != Pattern::kAllgather) {
    query.lengths = SegmentLengths::kUnknown;
    return query;
  }
  if (facts.known != LengthKnown::kAll || facts.size_bytes < query.threshold_bytes) return std::nullopt;
  if (facts.has_lengths) {
    query.lengths = SegmentLengths::kKnown;
    query.longest_bytes = facts.size_bytes;
  } else {
    const bool has_one_block = facts.pattern == Pattern::kBroadcast ||
                               (is_reduction(facts.pattern) && facts.pattern != Pattern::kReduceScatter);
    query.n_blocks = has_one_block ? 1 : static_cast<std::uint64_t>(facts.n_ranks);
    query.block_bytes = facts.size_bytes / query.n_blocks;
    query.unit_bytes = facts.unit_bytes;
  }
  return may_be_cut(query) ? std::optional(query) : std::nullopt;
}

std::string explain(int n_ranks, const SegmentQuery &query, const SegmentPlan &plan) {
  const std::string how = plan.n_segments == 1 ? "whole" : fmt::format("{} segments", plan.n_segments);
  const std::string what = query.lengths == SegmentLengths::kEqual
                               ? fmt::format("{} x {} bytes", query.n_blocks, query.block_bytes)
                               : fmt::format("unequal blocks, at most {} bytes a buffer", query.longest_bytes);
  return fmt::format("{} ranks, {} -> {}: {}", n_ranks, what, how, plan.reason);
}

}  // namespace sluice::plan
