// SPDX-License-Identifier: BSD-3-Clause
#include "plan/joint.hpp"

#include <fmt/format.h>

#include <algorithm>

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
      return "no rank has a buffer as long as SLUICE_COLL_IPC_THRESHOLD";
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

}  // namespace

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
  const std::uint64_t n_chunks = query.chunk_bytes == 0 ? 0 : length / query.chunk_bytes;
  const bool is_worth_it = offers.size() > 2 && n_chunks >= kFewestChunks && n_chunks < kMostChunks;
  if (is_worth_it && !any([](const Offer &offer) { return !offer.feeds; })) return {Joint::kChain, JointReason::kFed};
  return {Joint::kPull, JointReason::kPulled};
}

std::string explain(std::size_t n_ranks, const JointPlan &plan) {
  return fmt::format("{} ranks -> {}: {}", n_ranks, name(plan.joint), sentence(plan.reason));
}

}  // namespace sluice::plan
