// SPDX-License-Identifier: BSD-3-Clause
// CallFacts: what the ranks of a collective call know of it before they ask each other. Pure.
#pragma once

#include <cstdint>

namespace sluice::plan {

// Who gets whose blocks. In a reduction: who gets the result, and of whose data it is.
enum class Pattern : std::uint8_t {
  kNone,
  kBroadcast,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kNeighborAllgather,
  kNeighborAlltoall,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kScan,
  kExscan
};

// True: data is computed, not only moved.
[[nodiscard]] constexpr bool is_reduction(Pattern pattern) noexcept {
  return pattern >= Pattern::kReduce;
}
// True: only neighbours in a topology exchange data.
[[nodiscard]] constexpr bool is_of_neighbors(Pattern pattern) noexcept {
  return pattern == Pattern::kNeighborAllgather || pattern == Pattern::kNeighborAlltoall;
}

// How much of a call's length a rank knows before it asks the others.
enum class LengthKnown : std::uint8_t {
  kNot,   // an argument is one that the host MPI refuses
  kPart,  // its own part alone
  kAll    // the longest buffer of any rank
};

// Alike on all ranks of a right program, but for the last three.
struct CallFacts {
  Pattern pattern = Pattern::kNone;
  bool is_blocking = true;
  bool is_persistent = false;
  bool has_channel = false;              // the private channel is open between all ranks of the communicator
  bool is_of_one_group = false;          // and that has one group, of two ranks or more
  bool is_on_one_node = false;           // all its ranks
  bool has_root = true;                  // the root is a rank of it, where the operation has one
  bool is_alltoall_in_place = false;     // what a rank sends lies where it receives
  bool has_own_operation = false;        // a reduction by an operation that the program has made
  bool can_be_reduced_in_parts = false;  // a reduction that the host MPI computes in parts as it does whole
  bool keeps_rank_order = false;         // a reduction is wanted in the order of the ranks, and another would show
  bool is_in_rank_order = false;         // and Sluice computes it in that order
  bool has_lengths = false;              // it only moves data, and each block has a length of its own: v and w forms
  bool follows_barrier = false;          // the host MPI is trusted with its blocking function alone
  bool all_trust_blocking = false;       // the host MPI is trusted with its blocking function, whatever a rank gives
  bool compares_lengths = false;         // the ranks of a blocking call compare their lengths at its beginning
  LengthKnown known = LengthKnown::kNot;
  int n_ranks = 1;
  std::uint64_t size_bytes = 0;  // of the longest buffer of any rank; kAll
  std::uint64_t unit_bytes = 1;  // of a reduction: an element

  bool trusts_blocking = false;   // the host MPI is trusted with its blocking function, for what this rank gives
  std::uint32_t length_term = 0;  // of compares_lengths (length_terms.hpp)
  int common_length = 0;          // what all have to give alike, where a way but the node's and the host's is tried
};

}  // namespace sluice::plan
