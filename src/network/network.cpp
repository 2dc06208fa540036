// SPDX-License-Identifier: BSD-3-Clause
#include "network/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "device/stream.hpp"

namespace sluice::network {
namespace {

constexpr int kMostFailures = 4;

}  // namespace

Status open(const Choice &choice, std::unique_ptr<Provider> *provider) {
  if (choice.kind == Kind::kNone) return {};
  return choice.kind == Kind::kUcp ? open_ucp(provider) : open_simulated(choice.fault, provider);
}

Choice choose_for_process() {
  return choose(Knobs::process().text("SLUICE_NETWORK"));
}

Network &Network::process() {
  static auto *made = new Network();
  return *made;
}

// Once, with the lock.
void Network::open() {
  is_decided_ = true;
  const Choice choice = choose_for_process();
  const std::string why(reason(choice.why));
  if (choice.kind == Kind::kNone) {
    if (choice.why == Why::kUnknownName) {
      log::warn("network", why);
    } else {
      log::info("network", "no provider: " + why);
    }
    return;
  }
  if (const Status status = network::open(choice, &provider_); !status.is_ok()) {
    statistics::record_fallback("network_open");
    log::warn("network", status.message() + "; messages between nodes go through the host");
    return;
  }
  log::info("network", fmt::format("provider {}: {}", provider_->name(), why));
  opened_.store(provider_.get(), std::memory_order_release);
}

Provider *Network::provider() {
  if (Provider *known = opened_.load(std::memory_order_acquire); known != nullptr) return known;
  const std::scoped_lock lock(mutex_);
  if (!is_decided_) open();
  return provider_.get();
}

bool Network::reaches(const device::Place &place) {
  if (place.kind != MemoryKind::kDevice || place.backend == nullptr || device::has_streams()) return false;
  Provider *const opened = provider();
  if (opened == nullptr || n_failures_.load(std::memory_order_relaxed) >= kMostFailures) return false;
  const Device device{place.backend, place.device_index()};
  const std::scoped_lock lock(mutex_);
  const auto known = std::ranges::find(tried_, device, &Tried::device);
  if (known != tried_.end()) return known->is_reached;
  bool is_final = true;
  const Status status = try_on(opened, place, &is_final);
  if (!status.is_ok()) {
    log::warn_once(fmt::format("network_{}_{}", place.backend->name(), device.second), "network",
                   fmt::format("{} does not carry memory of {} device {}: {}; such messages go through the host",
                               opened->name(), place.backend->name(), device.second, status.message()));
    statistics::record_fallback("network_device");
  }
  if (status.is_ok() || is_final) tried_.push_back({device, status.is_ok()});
  return status.is_ok();
}

void Network::note_failure() noexcept {
  if (n_failures_.fetch_add(1, std::memory_order_relaxed) + 1 == kMostFailures) {
    log::warn("network", "the network library has failed too often; messages between nodes go through the host now");
  }
}

void Network::close() noexcept {
  const std::scoped_lock lock(mutex_);
  opened_.store(nullptr, std::memory_order_release);
  provider_.reset();
  tried_.clear();
  is_decided_ = false;
}

}  // namespace sluice::network
