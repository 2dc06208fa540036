// SPDX-License-Identifier: BSD-3-Clause
// The transform of the whole grid: along x, y and z in turn, with a transposition between.
#pragma once

#include <array>
#include <memory>

#include "apps/fft3d/exchange.hpp"
#include "apps/fft3d/host_threads.hpp"
#include "apps/support/fft.hpp"

namespace sluice::apps::fft3d {

// Of one transform on this rank, in µs.
struct Times {
  double all_us = 0;
  double exchange_us = 0;  // of that, in transpositions, what packs among it
};

// Throws DeviceError and MpiError. What it is given outlives it.
class Transform {
 public:
  // threads: fill and read host memory.
  // Collective.
  Transform(FftLibrary &library, const Pencils &pencils, bool is_double, const Way &way, const HostThreads &threads);
  Transform(const Transform &) = delete;
  Transform &operator=(const Transform &) = delete;

  // The rank's points along x (0), or along z (2), in memory's order. Numbers of float are rounded from double. What
  // else the points' memory holds becomes bytes that are no number.
  void write(const Values &values);
  Values read(unsigned dimension) const;
  // As write(), but leaves the other bytes: for what is not checked.
  void rewrite(const Values &values);

  // From pencils along x to pencils along z; and back, not scaled. All is done when they return. A transposition begins
  // when the device is idle, so that its time is its own.
  Times forward();
  Times inverse();
  // The transpositions of the above alone, which move points and change none.
  void move_forward();
  void move_back();

 private:
  Times run(bool is_inverse);

  Device &device_;
  const HostThreads &threads_;
  Pencils pencils_;
  bool is_double_;
  Element element_;
  mutable Points points_;
  Stream stream_;  // ends before the memory of the points: an error may leave kernels in it
  std::array<std::unique_ptr<FftPlan>, 3> plans_;
  std::array<std::unique_ptr<Exchange>, 2> exchanges_;
};

}  // namespace sluice::apps::fft3d
