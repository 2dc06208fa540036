// SPDX-License-Identifier: BSD-3-Clause
// What all kernels of contract calls are launched by.
#pragma once

#include <cstdint>
#include <span>

#include "module.h"

namespace sluice::backends::sycl {

// Whether a kernel on `device` may touch these addresses: SLUICE_ERROR_UNSUPPORTED with the reason where it may not.
// Throws what the runtime throws.
sluice_result_t check_reach(const ::sycl::device &device, std::span<const void *const> addresses);

// Items for `n_parts` parts, each with items of its own, of at most `size_bytes` bytes: one for each vector of 16
// bytes, until the device is full. Throws what the runtime throws.
::sycl::nd_range<1> range_for(const ::sycl::device &device, uint64_t n_parts, uint64_t size_bytes);

}  // namespace sluice::backends::sycl
