// SPDX-License-Identifier: BSD-3-Clause
// The choice of how a rank's share of a reduction inside a node is computed: by one kernel that reads and writes across
// the devices, or by copy engines that bring blocks to a kernel and its results away. Pure, as plan.hpp. Each rank's
// own: the result is the same in every bit, so how it comes about is nothing to the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::plan {

struct ReductionMeansQuery {
  std::uint64_t input_bytes = 0;  // of each rank
  std::size_t n_inputs = 0;
  std::size_t n_elsewhere = 0;  // inputs that may lie on another device
  bool is_for_all = true;       // every rank gets all of the result, so that as much goes one way as the other
  bool has_gaps = false;        // in its elements, which kernels leave as they are and copies would not
};

struct ReductionMeansLimits {
  std::uint64_t engines_from_bytes = 0;  // SLUICE_COLL_REDUCE_ENGINES
  std::uint64_t brought_bytes = 0;       // SLUICE_COLL_REDUCE_BLOCK; at least 1 where engines are chosen
};

enum class ReductionMeans : std::uint8_t { kKernel, kEngines };

struct ReductionMeansPlan {
  ReductionMeans means = ReductionMeans::kKernel;
  std::string_view reason;
};

// Below, nobody asks for the limits.
inline constexpr std::uint64_t kLeastForEngines = std::uint64_t{16} << 10;

// The choice, with kernels that take `most_operands` inputs. Hot.
[[nodiscard]] constexpr ReductionMeansPlan choose_reduction_means(const ReductionMeansQuery &query,
                                                                  const ReductionMeansLimits &limits,
                                                                  std::size_t most_operands) noexcept {
  if (limits.engines_from_bytes == 0) return {ReductionMeans::kKernel, "SLUICE_COLL_REDUCE_ENGINES is 0"};
  if (query.input_bytes < kLeastForEngines || query.input_bytes < limits.engines_from_bytes) {
    return {ReductionMeans::kKernel, "shorter than SLUICE_COLL_REDUCE_ENGINES"};
  }
  if (!query.is_for_all) return {ReductionMeans::kKernel, "not every rank gets all of the result"};
  if (query.has_gaps) return {ReductionMeans::kKernel, "its elements have gaps, which copies would write over"};
  if (query.n_inputs < 2) return {ReductionMeans::kKernel, "there is nothing to bring"};
  if (query.n_elsewhere == 0) return {ReductionMeans::kKernel, "all inputs lie on one device"};
  if (query.n_inputs > most_operands) return {ReductionMeans::kKernel, "more inputs than one kernel takes"};
  return {ReductionMeans::kEngines, "engines read and write the links"};
}

// One line for people: "4 inputs of 67108864 bytes -> engines: engines read and write the links".
[[nodiscard]] std::string explain(const ReductionMeansQuery &query, const ReductionMeansPlan &plan);

}  // namespace sluice::plan
