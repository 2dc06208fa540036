// SPDX-License-Identifier: BSD-3-Clause
// What one process pulls out of another's device memory, measured now. All of it: one thread, which says to the
// runtimes which device it means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "command/place/devices.hpp"

namespace sluice::command::place {

// From the memory of device `owner`, held by another process, into memory of device `puller`.
struct Link {
  std::int32_t owner = 0;
  std::int32_t puller = 0;
  double gb_per_s = 0;  // 10^9 bytes a second, of the best of several copies; 0: not reached
  std::string problem;  // why not
};

inline constexpr std::uint64_t kLinkBytes = 64ULL << 20;

// Every pair of devices, each with itself too (two ranks may share one). Starts this program anew for each owner
// (hold_memory), and takes some 10 ms a pair where nothing is slow. Makes contexts on all devices. `words` are the
// arguments that make this program call hold_memory, to which the device's number is added.
[[nodiscard]] std::vector<Link> measure_links(const Devices &devices, const std::vector<std::string> &words);

// The other process: allocates on `device`, writes the handle to standard output as one line, and holds the memory
// until standard input ends. Returns an exit status.
[[nodiscard]] int hold_memory(const Devices &devices, std::int32_t device);

}  // namespace sluice::command::place
