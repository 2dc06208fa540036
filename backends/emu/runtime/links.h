// SPDX-License-Identifier: BSD-3-Clause
// The links of the imitated devices: until when each is taken. The state is the process's own, or that of all processes
// that name the same file (link_file of SLUICE_EMU_MACHINE): then ranks that imitate one device slow each other down,
// as they do on the device that is imitated.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "emurt.h"

namespace emurt {

using Clock = std::chrono::steady_clock;

enum class Link : size_t { kUp, kDown, kLocal };

class Links {
 public:
  Links() noexcept : free_at_ns_(own_) {}

  // From now on the state is that of the file, which is made when it is not there and must be empty or have been made
  // by this function since the machine started. Before the first reserve(). The mapping stays until the process ends.
  emu_result_t share(const std::string &path);

  // The end of a transfer that takes `duration` on the link and may begin at `ready`, or when those that came before
  // are done. Any thread.
  Clock::time_point reserve(size_t device, Link link, Clock::time_point ready, Clock::duration duration);

 private:
  static constexpr size_t kMaxDevices = 16;
  static constexpr size_t kLinks = 3;
  using Moment = std::atomic<int64_t>;  // ns of the steady clock, which all processes of a machine share
  static_assert(Moment::is_always_lock_free);

  Moment own_[kMaxDevices * kLinks] = {};
  Moment *free_at_ns_;
};

}  // namespace emurt
