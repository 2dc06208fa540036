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
  std::uint64_t kernel_bytes = 0;  // coll_kernel_copy
  std::size_t most_copies = 0;     // of one kernel; 0: the device has none
};

enum class CopyMeans : std::uint8_t { kEngines, kKernel };

struct CopyPlan {
  CopyMeans means = CopyMeans::kEngines;
  std::string_view reason;
};

// The choice. Hot. Engines leave the device's cores to the program, so what gains nothing by a kernel is theirs.
[[nodiscard]] constexpr CopyPlan choose_copy_means(const CopyListQuery &query, const CopyListLimits &limits) noexcept {
  if (limits.kernel_bytes == 0) return {CopyMeans::kEngines, "no kernel is to copy"};
  if (query.size_bytes > limits.kernel_bytes) return {CopyMeans::kEngines, "longer than what a kernel is to copy"};
  if (limits.most_copies == 0) return {CopyMeans::kEngines, "the device has no kernel that copies"};
  if (query.n_copies > limits.most_copies) return {CopyMeans::kEngines, "more copies than one kernel makes"};
  return {CopyMeans::kKernel, "one kernel makes all copies at once"};
}

// One line for people: "2 copies of 8192 bytes -> kernel: one kernel makes all copies at once".
[[nodiscard]] std::string explain(const CopyListQuery &query, const CopyPlan &plan);

// The values of the setting coll_own_block.
enum class OwnBlock : std::uint8_t { kAuto, kKernels };

// What a rank copies out of its own buffer while others' blocks come to it, or go from it (docs/adr/0053).
struct OwnBlockQuery {
  std::uint64_t own_bytes = 0;
  std::uint64_t others_bytes = 0;  // of the two, what is more
  bool is_blocking = true;         // else the program may want the device's cores meanwhile
};

struct OwnBlockLimits {
  OwnBlock wanted = OwnBlock::kAuto;
  bool is_crowded = false;  // SLUICE_DEVICE_CROWDED_ENGINES
  bool has_kernel = false;
};

// From this length on own blocks and those of others take less time beside each other than one after the other (2
// H200s, docs/adr/0014).
inline constexpr std::uint64_t kLongOwnBytes = std::uint64_t{2} << 20;

// What copies own blocks. Hot.
[[nodiscard]] constexpr CopyPlan choose_own_means(const OwnBlockQuery &query, const OwnBlockLimits &limits) noexcept {
  if (!limits.has_kernel) return {CopyMeans::kEngines, "the device has no kernel that copies"};
  if (limits.wanted == OwnBlock::kKernels) return {CopyMeans::kKernel, "coll_own_block is kernels"};
  if (!limits.is_crowded) return {CopyMeans::kEngines, "the device's engines do not slow each other"};
  if (query.own_bytes < kLongOwnBytes) return {CopyMeans::kEngines, "short"};
  if (!query.is_blocking) return {CopyMeans::kEngines, "the program may compute meanwhile"};
  // A few blocks of work-items copy twice as fast as a link carries.
  if (query.own_bytes / 2 > query.others_bytes) return {CopyMeans::kEngines, "longer than all that comes beside it"};
  return {CopyMeans::kKernel, "leaves the engines to what crosses links"};
}

// What pulls the others' blocks beside own ones that `own` copies. has_small_pages: some lie in an allocation that is
// no multiple of SLUICE_LARGE_PAGE_BYTES.
[[nodiscard]] constexpr CopyPlan choose_pull_means(const CopyPlan &own, bool has_small_pages,
                                                   OwnBlock wanted) noexcept {
  if (own.means != CopyMeans::kKernel) return {CopyMeans::kEngines, "no kernel copies beside them"};
  if (wanted == OwnBlock::kKernels) return {CopyMeans::kKernel, "coll_own_block is kernels"};
  if (!has_small_pages) return {CopyMeans::kEngines, "all lie in large pages"};
  return {CopyMeans::kKernel, "an allocation is mapped in small pages"};
}

// "own blocks of 8388608 bytes beside 8388608 of others -> kernel: leaves the engines to what crosses links".
[[nodiscard]] std::string explain(const OwnBlockQuery &query, const CopyPlan &plan);

}  // namespace sluice::plan
