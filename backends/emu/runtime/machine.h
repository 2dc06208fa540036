// SPDX-License-Identifier: BSD-3-Clause
// The machine that is imitated: turns a profile into the moment at which a copy may be done, and waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/links.h"
#include "runtime/memory_table.h"
#include "runtime/profile.h"

namespace emurt {

class Machine {
 public:
  // As Links::share(). Before the first copy.
  emu_result_t share_links(const std::string &path) { return links_.share(path); }

  // Null: no artificial time.
  void set_profile(std::shared_ptr<const Profile> profile);

  // The moment at which a copy that begins now is done: its latency, then its turn on the link, which it shares with
  // the other copies of the same device and direction. Clock::time_point::min() without a profile. Any thread.
  // is_first: of its batch.
  Clock::time_point copy_done(const Endpoint &dst, const Endpoint &src, size_t size_bytes, bool is_first);
  // The moment at which a submission to a queue returns to its caller.
  Clock::time_point enqueue_done();

 private:
  enum class Way { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kPeerToPeer };
  static Way way_of(const Endpoint &dst, const Endpoint &src);
  static const LinkFigures &figures_of(const Profile &profile, Way way, const Endpoint &dst, const Endpoint &src);
  static Link link_of(const Profile &profile, Way way);

  std::atomic<bool> has_profile_{false};
  std::mutex mutex_;
  std::shared_ptr<const Profile> profile_;
  Links links_;
};

// Blocks until `moment`: asleep while it is far, spinning for the last part, so that microseconds are kept.
void wait_until(Clock::time_point moment);

}  // namespace emurt
