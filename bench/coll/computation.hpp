// SPDX-License-Identifier: BSD-3-Clause
// What a program computes while a non-blocking collective is under way.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/cli/family_options.hpp"
#include "bench/measure/host_work.hpp"
#include "bench/memory/device_work.hpp"
#include "bench/session.hpp"

namespace sluice::bench {

// On this rank's cores, on its device, or on both at the same time (--compute).
class Computation {
 public:
  // Collective. place: any but `each`. Throws AgreedError when a rank has no device that computes.
  Computation(Session &session, ComputePlace place);

  // How long one run() is to take in all. Local.
  void set_time(double time_us);
  // One of n_parts equal parts; blocks until it is done. Throws DeviceError.
  void run_part(std::uint64_t n_parts);

 private:
  ComputePlace place_;
  HostWork host_;
  std::optional<DeviceWork> device_;
  std::uint64_t host_amount_ = 0;
  double time_us_ = 0;
};

}  // namespace sluice::bench
