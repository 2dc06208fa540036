// SPDX-License-Identifier: BSD-3-Clause
// What the module keeps to while a stream of the program's waits (../stream_waits.h). On NVIDIA's driver, under the
// runtime's CUDA adapter, whoever frees or unmaps memory or loads a kernel is held up until the device is idle
// (docs/adr/0032). So memory is given back later, on all devices alike; and a kernel that is not loaded yet is refused
// there, so that the caller takes another way.
#pragma once

#include <functional>
#include <utility>

#include "../stream_waits.h"
#include "module.h"

namespace sluice::backends::sycl {

// The shared give_back(); a failure of what runs later is logged.
inline sluice_result_t give_back(std::function<sluice_result_t()> release) {
  return backends::give_back(std::move(release), log_error);
}

}  // namespace sluice::backends::sycl
