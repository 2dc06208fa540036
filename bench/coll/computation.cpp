// SPDX-License-Identifier: BSD-3-Clause
// What a program computes while a non-blocking collective is under way.
#include "bench/coll/computation.hpp"

namespace sluice::bench {

Computation::Computation(Session &session, ComputePlace place) : place_(place) {
  if (place_ == ComputePlace::host) {
    return;
  }
  session.world().agree(error_of([&] {
    if (session.module() == nullptr) {
      throw DeviceError("--compute: this rank has no device to compute on: its memory is the host's");
    }
    device_.emplace(*session.module());
  }));
}

void Computation::set_time(double time_us) {
  time_us_ = time_us;
  host_amount_ = host_.amount_of(time_us);
}

void Computation::run_part(std::uint64_t n_parts) {
  if (device_) {
    device_->start(device_->amount_of(time_us_ / static_cast<double>(n_parts)));
  }
  if (place_ != ComputePlace::device) {
    host_.run(host_amount_ / n_parts);
  }
  if (device_) {
    device_->finish();
  }
}

}  // namespace sluice::bench
