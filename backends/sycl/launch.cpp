// SPDX-License-Identifier: BSD-3-Clause
// What kernels may touch, and how many items they get.
#include "launch.h"

#include <algorithm>

#include "runtime.h"

namespace sluice::backends::sycl {
namespace {

constexpr size_t kGroupItems = 256;
// Work-groups for each compute unit, as far as there is work. Each item keeps a copy of the kernel's arguments in
// memory of its own before it begins, so fewer items that do more are better: 64 MiB of floats are added to as many in
// 74 us on an H200, with 16 groups in 111, and by cuda's kernel, which has no such copy, in 57.
constexpr size_t kGroupsPerUnit = 2;
constexpr size_t kItemBytes = 16;

}  // namespace

// A kernel of the CPU device reaches all memory of the process; others reach what the runtime knows.
sluice_result_t check_reach(const ::sycl::device &device, std::span<const void *const> addresses) {
  if (device.is_cpu()) return SLUICE_SUCCESS;
  for (const void *address : addresses) {
    if (find_allocation(Runtime::start(), address).kind == ::sycl::usm::alloc::unknown) {
      return fail(SLUICE_ERROR_UNSUPPORTED, "kernel: memory that the runtime does not know is out of its reach");
    }
  }
  return SLUICE_SUCCESS;
}

::sycl::nd_range<1> range_for(const ::sycl::device &device, uint64_t n_parts, uint64_t size_bytes) {
  const size_t n_units = std::max<size_t>(1, device.get_info<::sycl::info::device::max_compute_units>());
  const size_t group = std::min(kGroupItems, device.get_info<::sycl::info::device::max_work_group_size>());
  const size_t n_wanted = size_bytes / (kItemBytes * group) + 1;
  const size_t n_most_each = std::max<size_t>(n_units * kGroupsPerUnit / n_parts, 1);
  return {n_parts * std::min(n_wanted, n_most_each) * group, group};
}

}  // namespace sluice::backends::sycl
