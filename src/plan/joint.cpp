// SPDX-License-Identifier: BSD-3-Clause
#include "plan/joint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::plan {
namespace {

const char *name(Joint joint) {
  switch (joint) {
    case Joint::kStaged:
      return "staged";
    case Joint::kPull:
      return "pull";
    case Joint::kChain:
      return "chain";
    case Joint::kReduce:
      return "reduce";
    case Joint::kFail:
      return "fail";
  }
  return "";
}

const char *sentence(JointReason reason) {
  switch (reason) {
    case JointReason::kRankFailed:
      return "a rank has an error already, and nobody is to wait for it";
    case JointReason::kRankCannot:
      return "a rank has a buffer that is no device memory, or that others cannot be told of";
    case JointReason::kTwoBackends:
      return "the ranks have device memory of different runtimes";
    case JointReason::kShort:
      return "no rank has a buffer as long as coll_ipc_threshold";
    case JointReason::kNothing:
      return "there is nothing to move";
    case JointReason::kDifferentLengths:
      return "the ranks do not agree on the length of the broadcast, which is for the host MPI to say";
    case JointReason::kPulled:
      return "every receiver reaches the device memory of those that it gets from";
    case JointReason::kFed:
      return "long enough that the ranks feed each other, so that the root is not the only one to be read from";
  }
  return "";
}

bool gains_by_chain(std::uint64_t length_bytes, std::size_t n_ranks, std::uint64_t chunk_bytes) noexcept {
  const std::uint64_t n_whole = chunk_bytes == 0 ? 0 : length_bytes / chunk_bytes;  // and perhaps one that is shorter
  return n_ranks > 2 && n_whole >= kFewestChunks && n_whole + 1 < kMostChunks;
}

}  // namespace

std::uint64_t chain_block(std::uint64_t length_bytes, int n_ranks, std::uint64_t wanted_bytes) noexcept {
  if (n_ranks <= 2) return 0;
  std::uint64_t block_bytes = wanted_bytes;
  if (block_bytes == 0) {
    const double best = std::sqrt(static_cast<double>(length_bytes) * static_cast<double>(kGapBytes) / (n_ranks - 2));
    const std::uint64_t n_units = static_cast<std::uint64_t>(best) / kLeastChainBlock;
    block_bytes = std::max<std::uint64_t>(n_units, 1) * kLeastChainBlock;
  }
  return gains_by_chain(length_bytes, static_cast<std::size_t>(n_ranks), block_bytes) ? block_bytes : 0;
}

JointPlan choose_joint(std::span<const Offer> offers, const JointQuery &query) noexcept {
  const auto any = [&](auto has) { return std::any_of(offers.begin(), offers.end(), has); };
  if (any([](const Offer &offer) { return offer.is_failing; })) return {Joint::kFail, JointReason::kRankFailed};
  if (any([](const Offer &offer) { return !offer.can_take_part; })) return {};
  std::string_view backend;
  std::uint64_t longest = 0;
  for (const Offer &offer : offers) {
    longest = std::max(longest, offer.largest_bytes);
    if (offer.backend.empty()) continue;
    if (!backend.empty() && backend != offer.backend) return {Joint::kStaged, JointReason::kTwoBackends};
    backend = offer.backend;
  }
  if (longest == 0) return {Joint::kStaged, JointReason::kNothing};
  if (longest < query.threshold_bytes) return {Joint::kStaged, JointReason::kShort};
  if (!query.is_broadcast) return {Joint::kPull, JointReason::kPulled};
  const std::uint64_t length = offers.front().broadcast_bytes;
  if (any([&](const Offer &offer) { return offer.broadcast_bytes != length; })) {
    return {Joint::kStaged, JointReason::kDifferentLengths};
  }
  const bool is_worth_it = gains_by_chain(length, offers.size(), query.chunk_bytes);
  if (is_worth_it && !any([](const Offer &offer) { return !offer.feeds; })) return {Joint::kChain, JointReason::kFed};
  return {Joint::kPull, JointReason::kPulled};
}

std::string explain(std::size_t n_ranks, const JointPlan &plan) {
  return fmt::format("{} ranks -> {}: {}", n_ranks, name(plan.joint), sentence(plan.reason));
}

}  // namespace sluice::plan
