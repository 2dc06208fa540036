// SPDX-License-Identifier: BSD-3-Clause
// Times of copies.
#include "runtime/machine.h"

#include <time.h>

#include <cerrno>
#include <utility>

namespace emurt {
namespace {

// A sleeping thread wakes up to about this late (timer slack and the way through the scheduler).
constexpr auto kSpin = std::chrono::microseconds(100);

Clock::duration microseconds(double value) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::micro>(value));
}

Clock::duration transfer_time(double bandwidth_gb_s, size_t size_bytes) {
  if (bandwidth_gb_s <= 0) return {};
  return microseconds(static_cast<double>(size_bytes) / (bandwidth_gb_s * 1e3));
}

void sleep_until(Clock::time_point moment) {
  // steady_clock is CLOCK_MONOTONIC here; the absolute form is not lengthened by signals.
  const auto since_epoch = std::chrono::duration_cast<std::chrono::nanoseconds>(moment.time_since_epoch()).count();
  timespec at{};
  at.tv_sec = static_cast<time_t>(since_epoch / 1'000'000'000);
  at.tv_nsec = static_cast<long>(since_epoch % 1'000'000'000);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

}  // namespace

void wait_until(Clock::time_point moment) {
  if (moment - Clock::now() > 2 * kSpin) sleep_until(moment - kSpin);
  while (Clock::now() < moment) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

void Machine::set_profile(std::shared_ptr<const Profile> profile) {
  const std::scoped_lock lock(mutex_);
  profile_ = std::move(profile);
  has_profile_.store(profile_ != nullptr, std::memory_order_release);
}

Machine::Way Machine::way_of(const Endpoint &dst, const Endpoint &src) {
  // Shared memory is taken to be where the CPU is: it behaves as pinned memory does.
  const bool to_device = dst.kind() == EMU_MEMORY_DEVICE;
  const bool from_device = src.kind() == EMU_MEMORY_DEVICE;
  if (to_device && from_device) return dst.device() == src.device() ? Way::kDeviceToDevice : Way::kPeerToPeer;
  if (to_device) return Way::kHostToDevice;
  return from_device ? Way::kDeviceToHost : Way::kHostToHost;
}

const LinkFigures &Machine::figures_of(const Profile &profile, Way way, const Endpoint &dst, const Endpoint &src) {
  switch (way) {
    case Way::kHostToDevice:
      return src.kind() == EMU_MEMORY_HOST ? profile.host_to_device_pageable : profile.host_to_device_pinned;
    case Way::kDeviceToHost:
      return dst.kind() == EMU_MEMORY_HOST ? profile.device_to_host_pageable : profile.device_to_host_pinned;
    case Way::kPeerToPeer:
      return profile.peer_to_peer;
    case Way::kDeviceToDevice:
    case Way::kHostToHost:
      break;
  }
  return profile.device_to_device;
}

Link Machine::link_of(const Profile &profile, Way way) {
  if (way == Way::kDeviceToDevice) return Link::kLocal;
  return way == Way::kDeviceToHost || !profile.is_duplex ? Link::kUp : Link::kDown;
}

Clock::time_point Machine::copy_done(const Endpoint &dst, const Endpoint &src, size_t size_bytes, bool is_first) {
  if (!has_profile_.load(std::memory_order_acquire)) return Clock::time_point::min();
  const Way way = way_of(dst, src);
  if (way == Way::kHostToHost) return Clock::time_point::min();
  const std::scoped_lock lock(mutex_);
  if (profile_ == nullptr) return Clock::time_point::min();
  const LinkFigures &figures = figures_of(*profile_, way, dst, src);
  const Clock::time_point ready = Clock::now() + microseconds(is_first ? figures.latency_us : profile_->batch_copy_us);
  const Endpoint &device_end = way == Way::kDeviceToHost ? src : dst;
  return links_.reserve(static_cast<size_t>(device_end.device()), link_of(*profile_, way), ready,
                        transfer_time(figures.bandwidth_gb_s, size_bytes));
}

Clock::time_point Machine::enqueue_done() {
  if (!has_profile_.load(std::memory_order_acquire)) return Clock::time_point::min();
  const std::scoped_lock lock(mutex_);
  return profile_ == nullptr ? Clock::time_point::min() : Clock::now() + microseconds(profile_->enqueue_us);
}

}  // namespace emurt
