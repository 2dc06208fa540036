// SPDX-License-Identifier: BSD-3-Clause
// The halo exchange alone, with messages of one size: as figure 9 of the CCGrid'23 paper sweeps it.
#pragma once

#include <cstdint>
#include <string>

#include "apps/stencil3d/grid.hpp"

namespace sluice::apps::stencil3d {

// Throws DeviceError and MpiError.
class Sweep {
 public:
  // Each neighbour gets and sends size_bytes in each step; not as Variant::subarray. n_graph_steps: in each graph of
  // Variant::st_graph; run() is called for as many steps or a multiple of that.
  Sweep(Device &device, const World &world, const Place &place, std::uint64_t size_bytes, Variant variant,
        int n_graph_steps);

  // n_steps exchanges of bytes that differ in each; all is done when it returns.
  void run(int n_steps);
  // Of all bytes that came in all steps so far. Returns what is wrong, or "".
  std::string check() const;

 private:
  void step();
  void launch_fill();
  void launch_fold();

  std::uint64_t rank_;
  Place place_;
  std::uint64_t size_bytes_;
  int n_graph_steps_;  // 0: no graphs
  Stream stream_;
  Halo halo_;
  DeviceArray<std::uint64_t> folded_;
  DeviceArray<std::uint64_t> step_;  // one number
  std::uint64_t n_steps_ = 0;
};

}  // namespace sluice::apps::stencil3d
