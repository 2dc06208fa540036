// SPDX-License-Identifier: BSD-3-Clause
// The choice for a reduction within one process: on the device, or in the host MPI. Pure, as plan.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/types.hpp"

namespace sluice::plan {

// SLUICE_COLL_KERNEL.
enum class KernelUse : std::uint8_t { kAuto, kAlways, kOff };
inline constexpr std::array<std::string_view, 3> kKernelUseNames = {"auto", "always", "off"};

struct ReductionQuery {
  bool is_all_device = false;  // every buffer is device memory of one device
  bool has_kernel = false;     // the device computes this operation on this type
  bool copies_by_cpu = false;  // its copies, and so its kernels, are work for the cores that compute otherwise
};

struct ReductionPlan {
  Route route = Route::kStaged;
  std::string_view reason;
};

// The choice. Warm. On a device that is the CPU the host MPI's loop is as fast, and no kernel has to be compiled first.
[[nodiscard]] constexpr ReductionPlan choose_reduction(const ReductionQuery &query, KernelUse use) noexcept {
  if (use == KernelUse::kOff) return {Route::kStaged, "SLUICE_COLL_KERNEL is off"};
  if (!query.is_all_device) return {Route::kStaged, "not all buffers are memory of one device"};
  if (!query.has_kernel) return {Route::kStaged, "the device has no kernel for this operation on this type"};
  if (use == KernelUse::kAuto && query.copies_by_cpu) return {Route::kStaged, "the device is the CPU"};
  return {Route::kKernel, "the data stays on the device"};
}

}  // namespace sluice::plan
