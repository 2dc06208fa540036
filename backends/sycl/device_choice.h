// SPDX-License-Identifier: BSD-3-Clause
// Which devices of the runtime are used, of those that were found (the knob SLUICE_SYCL_DEVICES).
#pragma once

#include <string_view>

namespace sluice::backends::sycl {

struct DeviceKind {
  bool is_gpu;
  bool is_cpu;
};

// `has_gpu`: there is a GPU among those that were found. Memory of a CPU device is the host's for MPI in any case;
// beside GPUs ranks would be given it as their device, and copies between the two are no runtime's.
constexpr bool is_chosen(std::string_view knob, const DeviceKind &kind, bool has_gpu) {
  if (knob == "gpu") return kind.is_gpu;
  if (knob == "cpu") return kind.is_cpu;
  return kind.is_gpu || (kind.is_cpu && (knob == "all" || !has_gpu));
}

}  // namespace sluice::backends::sycl
