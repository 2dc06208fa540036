// SPDX-License-Identifier: BSD-3-Clause
// The memory that host_register was given: stream_channel.cpp keeps the list. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::backends::sycl {

// Whether all of it was registered for `device`, in one piece.
bool is_registered(int32_t device, const void *memory, size_t size_bytes);

}  // namespace sluice::backends::sycl
