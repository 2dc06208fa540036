// SPDX-License-Identifier: BSD-3-Clause
// The choice that the ranks of one node make together for a collective operation. Pure: each rank computes it for
// itself from what all of them published, so all come to the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::plan {

// What one rank published.
struct Offer {
  bool is_failing = false;          // it has an error already
  bool can_take_part = false;       // all its buffers are device memory that it can pull into and others can pull from
  bool feeds = false;               // others may pull on what it has pulled
  std::string_view backend;         // whose memory; empty: it has no bytes to send or to receive
  std::uint64_t largest_bytes = 0;  // payload of the longer of its two buffers
  std::uint64_t broadcast_bytes = 0;  // of a broadcast: payload
};

// What the operation is; the same on all ranks.
struct JointQuery {
  bool is_broadcast = false;
  std::uint64_t threshold_bytes = 0;  // of the longest buffer of any rank
  std::uint64_t chunk_bytes = 0;      // of a broadcast, as its root published: chain_block()
};

enum class Joint : std::uint8_t {
  kStaged,  // each for itself, through the host MPI
  kPull,    // each receiver pulls all that it gets from where it is, in one list of copies
  kChain,   // a broadcast: each pulls from the one before it, in chunks, as they come there
  kReduce,  // a reduction: each computes its part of it (joint_reduction.hpp)
  kFail     // all return an error
};

enum class JointReason : std::uint8_t {
  kRankFailed,
  kRankCannot,
  kTwoBackends,
  kShort,
  kNothing,
  kDifferentLengths,
  kPulled,
  kFed
};

struct JointPlan {
  Joint joint = Joint::kStaged;
  JointReason reason = JointReason::kRankCannot;
};

// A broadcast of fewer chunks gains nothing by a chain. More chunks than the most do not fit the counter on the board.
inline constexpr std::uint64_t kFewestChunks = 4;
inline constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 16;

// How long the chunks of a broadcast of `length_bytes` to `n_ranks` are: `wanted_bytes` (coll_chain_block), or
// with 0 what the length and the ranks ask for, a multiple of kLeastChainBlock. 0: so few chunks that a chain gains
// nothing. A chain takes, in bytes of one link, length + n_chunks * kGapBytes + (n_ranks - 2) * chunk. That is least at
// chunk = sqrt(length * kGapBytes / (n_ranks - 2)). Hot.
[[nodiscard]] std::uint64_t chain_block(std::uint64_t length_bytes, int n_ranks, std::uint64_t wanted_bytes) noexcept;

// What a link of 390 GB/s would carry from the end of a chunk to the beginning of the next (docs/adr/0014).
inline constexpr std::uint64_t kGapBytes = std::uint64_t{1} << 20;
// Of shorter ones the next would be waited for: a rank hears of a chunk 12 us after it is there, in which a link
// carries 4 MiB, and a few are on their way at a time.
inline constexpr std::uint64_t kLeastChainBlock = std::uint64_t{2} << 20;

// The choice for the ranks that made `offers`. Hot.
[[nodiscard]] JointPlan choose_joint(std::span<const Offer> offers, const JointQuery &query) noexcept;

// One line for people: "4 ranks -> pull: every receiver reaches the device memory of those that it gets from".
[[nodiscard]] std::string explain(std::size_t n_ranks, const JointPlan &plan);

}  // namespace sluice::plan
