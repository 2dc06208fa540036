// SPDX-License-Identifier: BSD-3-Clause
// What kernels may touch, and how many items they get.
#include "launch.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "runtime.h"

namespace sluice::backends::sycl {
namespace {

constexpr size_t kGroupItems = 256;
// Work-groups for each compute unit, as far as there is work. Each item keeps a copy of the kernel's arguments in
// memory of its own before it begins, so fewer items that do more are better: 64 MiB of floats are added to as many in
// 66 us on an H200, with 16 groups in 73, and by cuda's kernel, which has no such copy, in 57.
constexpr size_t kGroupsPerUnit = 2;
constexpr size_t kItemBytes = 16;

// The runtime asks its adapter each time, so the answers are kept.
struct Limits {
  ::sycl::device device;
  size_t n_units;
  size_t most_items;  // of a group
};

Limits limits_of(const ::sycl::device &device) {
  static std::mutex mutex;
  static auto *const known = new std::vector<Limits>();
  const std::scoped_lock lock(mutex);
  for (const Limits &one : *known) {
    if (one.device == device) return one;
  }
  const size_t n_units = device.get_info<::sycl::info::device::max_compute_units>();
  known->push_back(
      {device, std::max<size_t>(1, n_units), device.get_info<::sycl::info::device::max_work_group_size>()});
  return known->back();
}

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
  const Limits limits = limits_of(device);
  const size_t group = std::min(kGroupItems, limits.most_items);
  const size_t n_wanted = size_bytes / (kItemBytes * group) + 1;
  const size_t n_most_each = std::max<size_t>(limits.n_units * kGroupsPerUnit / n_parts, 1);
  return {n_parts * std::min(n_wanted, n_most_each) * group, group};
}

}  // namespace sluice::backends::sycl
