// SPDX-License-Identifier: BSD-3-Clause
// The choice of how a rank's share of a reduction inside a node is computed: by one kernel that reads and writes across
// the devices, or by copy engines that bring blocks to a kernel and its results away. Pure, as plan.hpp. Each rank's
// own: the result is the same in every bit, so how it comes about is nothing to the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plan/joint_reduction.hpp"

namespace sluice::plan {

struct ReductionMeansQuery {
  std::uint64_t input_bytes = 0;  // of each rank
  std::size_t n_inputs = 0;
  std::size_t n_elsewhere = 0;  // inputs that may lie on another device
  Delivery delivery = Delivery::kAllOfIt;
  bool has_gaps = false;  // in its elements, which kernels leave as they are and copies would not
};

struct ReductionMeansLimits {
  std::uint64_t engines_from_bytes = 0;  // coll_reduce_engines, of two inputs
  std::uint64_t brought_bytes = 0;       // coll_reduce_block; at least 1 where engines are chosen
};

enum class ReductionMeans : std::uint8_t { kKernel, kEngines };

struct ReductionMeansPlan {
  ReductionMeans means = ReductionMeans::kKernel;
  std::string_view reason;
  bool sends_last = false;  // engines bring results away when all has been reduced
};

// Below, nobody asks for the limits.
inline constexpr std::uint64_t kLeastForEngines = std::uint64_t{16} << 10;
// Kernels that read from, and write to, several other devices are slower than with one, so that engines gain by shorter
// inputs: the limit is divided by this for more than two (4 H200s, docs/adr/0024).
inline constexpr std::uint64_t kSoonerForMore = 4;
// Copies of ranks that are out of step read the same device's memory, and get in step no more: of so many blocks
// engines bring a rank what it computes alone as fast as a kernel reads it, of more slower.
inline constexpr std::uint64_t kMostBlocksInStep = 2;

// The choice, with kernels that take `most_operands` inputs. Hot.
[[nodiscard]] constexpr ReductionMeansPlan choose_reduction_means(const ReductionMeansQuery &query,
                                                                  const ReductionMeansLimits &limits,
                                                                  std::size_t most_operands) noexcept {
  if (limits.engines_from_bytes == 0) return {ReductionMeans::kKernel, "coll_reduce_engines is 0"};
  const bool has_more = query.n_inputs > 2;
  const std::uint64_t from_bytes = has_more ? limits.engines_from_bytes / kSoonerForMore : limits.engines_from_bytes;
  if (query.input_bytes < kLeastForEngines || query.input_bytes < from_bytes) {
    return {ReductionMeans::kKernel, "shorter than coll_reduce_engines wants it"};
  }
  if (query.delivery == Delivery::kBlocks && !has_more) {
    return {ReductionMeans::kKernel, "a kernel reads one other device as fast, and no block is waited for"};
  }
  if (query.delivery != Delivery::kAllOfIt && query.delivery != Delivery::kBlocks) {
    return {ReductionMeans::kKernel, "not every rank gets as much of the result"};
  }
  if (query.has_gaps) return {ReductionMeans::kKernel, "its elements have gaps, which copies would write over"};
  if (query.n_inputs < 2) return {ReductionMeans::kKernel, "there is nothing to bring"};
  const std::uint64_t brought_bytes = query.input_bytes - query.input_bytes / query.n_inputs;
  if (query.delivery == Delivery::kBlocks && brought_bytes > kMostBlocksInStep * limits.brought_bytes) {
    return {ReductionMeans::kKernel, "so long that the ranks' copies would get out of step"};
  }
  if (query.n_elsewhere == 0) return {ReductionMeans::kKernel, "all inputs lie on one device"};
  if (query.n_inputs > most_operands) return {ReductionMeans::kKernel, "more inputs than one kernel takes"};
  // Links between more than two have to be shared, and copies of both sorts would get in each other's way.
  return {ReductionMeans::kEngines, "engines read and write the links", has_more};
}

// One line for people: "4 inputs of 67108864 bytes -> engines: engines read and write the links".
[[nodiscard]] std::string explain(const ReductionMeansQuery &query, const ReductionMeansPlan &plan);

}  // namespace sluice::plan
