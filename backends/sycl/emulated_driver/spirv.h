// SPDX-License-Identifier: BSD-3-Clause
// What the driver has to know of a module in SPIR-V (specification 1.4, section 3): its kernels, and of what sort their
// arguments are. The CPU runtime does not say.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sluice::emulated_driver {

enum class ArgumentSort : uint8_t {
  kValue,        // bytes, among them addresses that the kernel takes as numbers
  kAddress,      // of device, shared or host memory
  kGroupMemory,  // memory of each group's own: only its length is given
};

// Of each kernel, by name, its arguments. Of code that is cut short or no SPIR-V: what could be read until there.
[[nodiscard]] std::map<std::string, std::vector<ArgumentSort>> find_kernels(std::span<const uint8_t> code);

}  // namespace sluice::emulated_driver
