// SPDX-License-Identifier: BSD-3-Clause
// The choice for a collective operation of several nodes: flat, or in two levels, inside the nodes and across them.
// Pure; from what all ranks know, so that all come to the same.
#pragma once

#include <cstdint>
#include <string>

namespace sluice::plan {

// What a rank can do; the least of all ranks counts.
enum class LevelAbility : std::uint8_t {
  kNone,     // its buffer is no device memory, or it has an error, or of a reduction no kernel, or no memory to spare
  kWhole,    // device memory
  kInSlices  // device memory that is one run of bytes
};

// How the ranks lie on the nodes, and how long the operation is.
struct LevelQuery {
  bool is_broadcast = false;     // else an allgather
  bool is_reduction = false;     // else one that moves data
  bool is_rooted = false;        // of a reduction: one rank alone gets the result
  bool is_scattered = false;     // of a reduction: each rank gets a block of it
  bool keeps_order = false;      // the reduction is wanted in the order of the ranks, and another would show
  std::uint64_t size_bytes = 0;  // of the longest buffer
  std::uint64_t threshold_bytes = 0;
  int n_nodes = 1;
  int least_local = 1;                         // ranks on the emptiest node
  int most_local = 1;                          // ranks on the fullest node
  bool is_uniform = false;                     // as many on each node
  bool is_node_major = false;                  // rank = node * ranks of a node + local rank
  LevelAbility ability = LevelAbility::kNone;  // the least of all ranks
};

enum class Levels : std::uint8_t {
  kFlat,     // each rank for itself, through the host MPI
  kLeaders,  // one rank of each node takes part across the nodes
  kLanes     // each rank of a node takes its part across the nodes: a lane for each
};

struct LevelPlan {
  Levels levels = Levels::kFlat;
  const char *reason = "";  // a sentence for people
};

// The longest message that is cut into slices, which are told in ints.
inline constexpr std::uint64_t kLongestSliced = 0x7fffffff;

// What all ranks know before they ask each other: whether asking is worth while. Hot.
[[nodiscard]] constexpr bool may_have_levels(const LevelQuery &query) noexcept {
  return query.n_nodes > 1 && query.most_local > 1 && query.size_bytes >= query.threshold_bytes && !query.keeps_order &&
         (query.is_broadcast || (query.is_reduction && !query.is_scattered) ||
          (query.is_uniform && query.is_node_major && query.size_bytes <= kLongestSliced));
}

// The choice.
[[nodiscard]] constexpr LevelPlan choose_levels(const LevelQuery &query) noexcept {
  if (query.keeps_order) return {Levels::kFlat, "SLUICE_REDUCE_ORDER is rank, and two levels reduce node by node"};
  if (!may_have_levels(query)) return {Levels::kFlat, "one rank a node, too short, or not as many ranks on each node"};
  if (query.is_reduction) {
    if (query.ability == LevelAbility::kNone) {
      return {Levels::kFlat, "a rank has a buffer that is no device memory, or no kernel, or no memory to spare"};
    }
    const bool is_in_lanes = query.ability == LevelAbility::kInSlices && query.least_local > 1;
    if (query.is_scattered) {
      if (is_in_lanes) return {Levels::kLanes, "each rank of a node reduces the blocks of its own on all nodes"};
      return {Levels::kFlat, "one rank of each node would carry the blocks of all"};
    }
    if (is_in_lanes && query.is_rooted) {
      return {Levels::kLanes, "each rank of a node reduces a slice and brings it to its own on the root's node"};
    }
    if (is_in_lanes) {
      return {Levels::kLanes, "each rank of a node reduces a slice and brings it to its own on the others"};
    }
    return {Levels::kLeaders, "one rank of each node brings the node's result to the others"};
  }
  if (query.ability == LevelAbility::kNone) return {Levels::kFlat, "a rank has a buffer that is no device memory"};
  if (!query.is_broadcast) return {Levels::kLanes, "each rank brings one block of each node to its own"};
  const bool is_sliced =
      query.is_uniform && query.ability == LevelAbility::kInSlices && query.size_bytes <= kLongestSliced;
  if (is_sliced) return {Levels::kLanes, "each rank of a node brings a slice to its own"};
  return {Levels::kLeaders,
          "one rank of each node brings it there: it has gaps, or the nodes have unlike numbers of ranks"};
}

// One line for people: "8 ranks on 2 nodes, 1048576 bytes -> lanes: ...".
[[nodiscard]] std::string explain(int n_ranks, const LevelQuery &query, const LevelPlan &plan);

}  // namespace sluice::plan
