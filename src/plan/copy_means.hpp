// SPDX-License-Identifier: BSD-3-Clause
// The choice of what makes a list of copies inside a device's reach: its copy engines, or one kernel. Pure, as
// plan.hpp. Each rank's own: what makes its copies is nothing to the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::plan {

struct CopyListQuery {
  std::size_t n_copies = 0;
  std::uint64_t size_bytes = 0;  // of all together
};

struct CopyListLimits {
  std::uint64_t kernel_bytes = 0;  // SLUICE_COLL_KERNEL_COPY
  std::size_t most_copies = 0;     // of one kernel; 0: the device has none
};

enum class CopyMeans : std::uint8_t { kEngines, kKernel };

struct CopyPlan {
  CopyMeans means = CopyMeans::kEngines;
  std::string_view reason;
};

// The choice. Hot. Engines leave the device's cores to the program, so what gains nothing by a kernel is theirs.
[[nodiscard]] constexpr CopyPlan choose_copy_means(const CopyListQuery &query, const CopyListLimits &limits) noexcept {
  if (limits.kernel_bytes == 0) return {CopyMeans::kEngines, "SLUICE_COLL_KERNEL_COPY is 0"};
  if (query.size_bytes > limits.kernel_bytes) return {CopyMeans::kEngines, "longer than SLUICE_COLL_KERNEL_COPY"};
  if (limits.most_copies == 0) return {CopyMeans::kEngines, "the device has no kernel that copies"};
  if (query.n_copies > limits.most_copies) return {CopyMeans::kEngines, "more copies than one kernel makes"};
  return {CopyMeans::kKernel, "one kernel makes all copies at once"};
}

// One line for people: "2 copies of 8192 bytes -> kernel: one kernel makes all copies at once".
[[nodiscard]] std::string explain(const CopyListQuery &query, const CopyPlan &plan);

}  // namespace sluice::plan
