// SPDX-License-Identifier: BSD-3-Clause
#include "plan/joint_reduction.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::plan {
namespace {

const char *name(JointReduction joint) {
  switch (joint) {
    case JointReduction::kStaged:
      return "staged";
    case JointReduction::kShares:
      return "shares";
    case JointReduction::kApart:
      return "apart";
    case JointReduction::kFail:
      return "fail";
  }
  return "";
}

const char *sentence(ReductionReason reason) {
  switch (reason) {
    case ReductionReason::kRankFailed:
      return "a rank has an error already, and nobody is to wait for it";
    case ReductionReason::kRankCannot:
      return "a rank has a buffer that is no device memory or that others cannot be told of, or no kernel";
    case ReductionReason::kTwoBackends:
      return "the ranks have device memory of different runtimes";
    case ReductionReason::kDifferentInputs:
      return "the ranks do not agree on the operation, the type or the length, which is for the host MPI to say";
    case ReductionReason::kShort:
      return "it is shorter than coll_reduce_threshold";
    case ReductionReason::kWouldOverwrite:
      return "a result in place would be written over what others have still to read";
    case ReductionReason::kShared:
      return "each rank reduces a part and writes it to all that get it";
    case ReductionReason::kApart:
      return "each rank reduces what it gets from where it is";
  }
  return "";
}

// With more ranks than one kernel takes, results are gathered up where they go, before the last input is read: that
// must not be one of the later inputs.
bool writes_over_inputs(std::span<const ReductionOffer> offers, const JointReductionQuery &query,
                        bool is_any_in_place) {
  if (!is_any_in_place) return false;
  const bool is_in_one_go = offers.size() <= query.most_operands;
  switch (query.delivery) {
    case Delivery::kAllOfIt:
      return false;  // gathered up at rank 0, whose input is read first
    case Delivery::kAllToOne:
      return !is_in_one_go && static_cast<std::uint32_t>(query.root) >= query.most_operands;
    case Delivery::kBlocks:
    case Delivery::kOfThoseBelow:
      return !is_in_one_go;
  }
  return true;
}

}  // namespace

JointReductionPlan choose_joint_reduction(std::span<const ReductionOffer> offers,
                                          const JointReductionQuery &query) noexcept {
  const auto any = [&](auto has) { return std::any_of(offers.begin(), offers.end(), has); };
  if (any([](const ReductionOffer &offer) { return offer.is_failing; })) {
    return {JointReduction::kFail, ReductionReason::kRankFailed, false};
  }
  if (any([](const ReductionOffer &offer) { return !offer.can_take_part; })) return {};
  const ReductionOffer &first = offers.front();
  if (any([&](const ReductionOffer &offer) { return offer.backend != first.backend; })) {
    return {JointReduction::kStaged, ReductionReason::kTwoBackends, false};
  }
  if (any([&](const ReductionOffer &offer) {
        return offer.pair != first.pair || offer.size_bytes != first.size_bytes;
      })) {
    return {JointReduction::kStaged, ReductionReason::kDifferentInputs, false};
  }
  if (first.size_bytes == 0 || first.size_bytes < query.threshold_bytes) {
    return {JointReduction::kStaged, ReductionReason::kShort, false};
  }
  const bool is_any_in_place = any([](const ReductionOffer &offer) { return offer.is_in_place; });
  if (writes_over_inputs(offers, query, is_any_in_place)) {
    return {JointReduction::kStaged, ReductionReason::kWouldOverwrite, false};
  }
  // What many read and one writes over is computed by the one rank that reads it. Of two ranks the root does all of
  // it: the link to it carries as much as with shares of the others, and nothing comes back over it (docs/adr/0024).
  const bool is_by_root = query.delivery == Delivery::kAllToOne && offers.size() <= 2;
  const bool is_apart = query.delivery == Delivery::kBlocks || is_by_root ||
                        (query.delivery == Delivery::kOfThoseBelow && !is_any_in_place);
  if (is_apart) return {JointReduction::kApart, ReductionReason::kApart, is_any_in_place};
  return {JointReduction::kShares, ReductionReason::kShared, is_any_in_place};
}

std::string explain(std::size_t n_ranks, const JointReductionPlan &plan) {
  return fmt::format("{} ranks -> {}: {}", n_ranks, name(plan.joint), sentence(plan.reason));
}

}  // namespace sluice::plan
