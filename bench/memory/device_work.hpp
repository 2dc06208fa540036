// SPDX-License-Identifier: BSD-3-Clause
// A device that computes for a given time.
#pragma once

#include <sluice/testing/probe.h>

#include <cstdint>
#include <memory>

namespace sluice::bench {

class DeviceModule;

// A kernel of the module's selected device, in a queue of its own. How much of it a us holds is measured once; what
// launching it and waiting for it take is part of the time that is asked for. Not thread safe.
class DeviceWork {
 public:
  // Makes the kernel, has it prove that it computes what it says, and measures it. Throws DeviceError with one line,
  // also when the module has no such kernel. module outlives this.
  explicit DeviceWork(DeviceModule &module);

  // Steps that take about time_us, from start() to the end of finish().
  std::uint64_t amount_of(double time_us) const;
  // Returns before the device is done. Throws DeviceError, as finish().
  void start(std::uint64_t amount);
  // Blocks until it is.
  void finish();

 private:
  double time_us(std::uint64_t amount);
  void prove();
  void calibrate();

  const DeviceModule &module_;
  std::unique_ptr<sluice_work_t, sluice_result_t (*)(sluice_work_t *)> work_;
  double launch_us_ = 0;
  double steps_per_us_ = 1;
};

}  // namespace sluice::bench
