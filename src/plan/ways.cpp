// SPDX-License-Identifier: BSD-3-Clause
#include "plan/ways.hpp"

#include <fmt/format.h>

#include <optional>

#include "plan/segments.hpp"

namespace sluice::plan {
namespace {

const char *name(Way way) {
  switch (way) {
    case Way::kTogether:
      return "together";
    case Way::kLevels:
      return "levels";
    case Way::kSegments:
      return "segments";
    case Way::kHost:
      return "host";
  }
  return "";
}

const char *name(Chance chance) {
  switch (chance) {
    case Chance::kNone:
      return "not tried";
    case Chance::kAsked:
      return "tried, if all ranks can";
    case Chance::kIfLong:
      return "tried, if all ranks can and one has it long enough";
    case Chance::kIfMet:
      return "tried, once a blocking call has gone this way";
    case Chance::kSure:
      return "taken where no other way is";
  }
  return "";
}

// Why no way of the ranks together is tried; null: one may be.
const char *find_hindrance(const CallFacts &facts) noexcept {
  if (!facts.has_channel)
    return "the ranks have no channel of Sluice's: no device was found, or a knob switched it off";
  if (!facts.is_of_one_group) return "the communicator has two groups, or one rank";
  if (facts.pattern == Pattern::kNone) return "the communicator has no topology";
  if (facts.known == LengthKnown::kNot) return "an argument is wrong, which is for the host MPI to say";
  return nullptr;
}

constexpr const char *kOwnOperation = "the operation is the program's own";

WayChoice together(const CallFacts &facts, const CollectiveTerms &terms) noexcept {
  const auto not_tried = [](const char *reason) { return WayChoice{Way::kTogether, Chance::kNone, reason}; };
  const bool reduces = is_reduction(facts.pattern);
  if (const char *const hindrance = find_hindrance(facts); hindrance != nullptr) return not_tried(hindrance);
  if (facts.has_own_operation) return not_tried(kOwnOperation);
  if (terms.threshold_bytes == CollectiveTerms::kNever) return not_tried("SLUICE_COLL_IPC is off");
  if (!facts.is_on_one_node) return not_tried("the ranks are on several nodes");
  if (facts.known == LengthKnown::kPart) {
    return {Way::kTogether, Chance::kIfLong, "each rank knows the length of its own part alone"};
  }
  if (facts.size_bytes < (reduces ? terms.reduce_threshold_bytes : terms.threshold_bytes)) {
    return not_tried("no buffer is as long as coll_ipc_threshold, or coll_reduce_threshold of a reduction");
  }
  const std::uint64_t unmet_bytes = reduces ? terms.unmet_reduce_threshold_bytes : terms.unmet_threshold_bytes;
  if (!facts.is_blocking && !facts.is_persistent && facts.size_bytes < unmet_bytes) {
    return {Way::kTogether, Chance::kIfMet, "to ask takes longer than a short call, and no device is in use here"};
  }
  return {Way::kTogether, Chance::kAsked, "each rank may reach the device memory of the others"};
}

bool has_levels(const CallFacts &facts) noexcept {
  if (!facts.is_blocking) return facts.pattern == Pattern::kAllreduce;
  switch (facts.pattern) {
    case Pattern::kBroadcast:
    case Pattern::kAllgather:
    case Pattern::kReduce:
    case Pattern::kAllreduce:
    case Pattern::kReduceScatter:
      return true;
    default:
      return false;
  }
}

WayChoice levels(const CallFacts &facts, const CollectiveTerms &terms) noexcept {
  const auto not_tried = [](const char *reason) { return WayChoice{Way::kLevels, Chance::kNone, reason}; };
  constexpr int kFewestRanks = 3;  // on two nodes, and two on one of them
  if (const char *const hindrance = find_hindrance(facts); hindrance != nullptr) return not_tried(hindrance);
  if (facts.has_own_operation) return not_tried(kOwnOperation);
  if (facts.is_on_one_node) return not_tried("the ranks are on one node");
  if (facts.n_ranks < kFewestRanks) return not_tried("each node has one rank");
  if (terms.levels_threshold_bytes == CollectiveTerms::kNever) return not_tried("SLUICE_COLL_LEVELS is off");
  if (!has_levels(facts)) return not_tried("the operation has no such form");
  if (!facts.has_root) return not_tried("the root is no rank, which is for the host MPI to say");
  if (facts.known != LengthKnown::kAll || facts.size_bytes < terms.levels_threshold_bytes) {
    return not_tried("no buffer is as long as coll_levels_threshold");
  }
  return {Way::kLevels, Chance::kAsked, "each rank may reach the device memory of the others of its node"};
}

WayChoice segments(const CallFacts &facts, const CollectiveTerms &terms) noexcept {
  const auto not_tried = [](const char *reason) { return WayChoice{Way::kSegments, Chance::kNone, reason}; };
  if (const char *const hindrance = find_hindrance(facts); hindrance != nullptr) return not_tried(hindrance);
  if (terms.segments_threshold_bytes == CollectiveTerms::kNever) return not_tried("SLUICE_COLL_SEGMENTS is off");
  if (is_of_neighbors(facts.pattern) || facts.is_alltoall_in_place) return not_tried("the operation has no such form");
  if (!facts.has_root) return not_tried("the root is no rank, which is for the host MPI to say");
  const std::optional<SegmentQuery> query = segment_query(facts, terms);
  if (!query) return not_tried("no buffer is as long as coll_segment_threshold");
  if (is_reduction(facts.pattern) && !facts.can_be_reduced_in_parts) {
    return not_tried("the host MPI may compute otherwise in parts");
  }
  const bool is_known = query->lengths != SegmentLengths::kUnknown;
  return {Way::kSegments, is_known ? Chance::kAsked : Chance::kIfLong,
          "copies and messages of different segments may overlap"};
}

WayChoice host(const CallFacts &facts) noexcept {
  if (facts.is_in_rank_order) return {Way::kHost, Chance::kSure, "SLUICE_REDUCE_ORDER is rank: by exchanges, and here"};
  if (facts.follows_barrier) return {Way::kHost, Chance::kSure, "by its blocking function, behind a barrier"};
  return {Way::kHost, Chance::kSure, "device memory is staged by each rank for itself"};
}

}  // namespace

Ways choose_ways(const CallFacts &facts, const CollectiveTerms &terms) noexcept {
  return {together(facts, terms), levels(facts, terms), segments(facts, terms), host(facts)};
}

std::string explain(const WayChoice &choice) {
  return fmt::format("{} -> {}: {}", name(choice.way), name(choice.chance), choice.reason);
}

}  // namespace sluice::plan
