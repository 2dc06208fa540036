// SPDX-License-Identifier: BSD-3-Clause
// Layouts that several collectives share. All counts are in elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/coll/collective.hpp"

namespace sluice::bench {

// One message of n elements, this rank's.
inline std::vector<Block> own_vector(const Circle &circle, std::uint64_t n) {
  return {{.n = n, .rank = circle.rank}};
}

// n elements for each of n_blocks receivers, one after the other.
inline std::vector<Block> block_for_each(const Circle &circle, std::uint64_t n, std::uint64_t n_blocks) {
  std::vector<Block> blocks;
  blocks.reserve(n_blocks);
  for (std::uint64_t i = 0; i < n_blocks; ++i) {
    blocks.push_back({.begin = i * n, .n = n, .rank = circle.rank, .message = i});
  }
  return blocks;
}

// n elements from each rank, in rank order: each one's block number `message`.
inline std::vector<Block> block_from_each(const Circle &circle, std::uint64_t n, std::uint64_t message) {
  std::vector<Block> blocks;
  blocks.reserve(static_cast<std::size_t>(circle.n_ranks));
  for (int rank = 0; rank < circle.n_ranks; ++rank) {
    blocks.push_back({.begin = static_cast<std::uint64_t>(rank) * n, .n = n, .rank = rank, .message = message});
  }
  return blocks;
}

// The reduction over n_ranks ranks from the first on, of elements `element` to element + n.
inline std::vector<Block> reduced(std::uint64_t n, int n_ranks, std::uint64_t element = 0) {
  return {{.n = n, .rank = 0, .n_ranks = n_ranks, .element = element}};
}

inline std::uint64_t ranks_of(const Circle &circle) {
  return static_cast<std::uint64_t>(circle.n_ranks);
}

// The part of a vector of n elements that a rank gets: as even as can be, the first ranks one more.
inline std::uint64_t share_of(std::uint64_t n, int n_ranks, int rank) {
  const auto ranks = static_cast<std::uint64_t>(n_ranks);
  return n / ranks + (static_cast<std::uint64_t>(rank) < n % ranks ? 1 : 0);
}

// Factors of bandwidth. A size is what one rank's block or vector holds.
inline double one_size(const Circle &) {
  return 1;
}
inline double size_for_each_rank(const Circle &circle) {
  return circle.n_ranks;
}
inline double size_for_each_neighbor(const Circle &circle) {
  return static_cast<double>(circle.sources.size());
}
// What no algorithm can avoid to pass over the slowest link of a rank, over what the algorithm moves.
inline double all_but_own(const Circle &circle) {
  return (circle.n_ranks - 1.0) / circle.n_ranks;
}
inline double twice_all_but_own(const Circle &circle) {
  return 2 * all_but_own(circle);
}

}  // namespace sluice::bench
