// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/descriptor_landings.hpp"

#include <algorithm>

#include "ops/p2p/descriptor.hpp"
#include "transfer/host_layout.hpp"

namespace sluice::ops {
namespace {

std::uintptr_t stretch_of(std::uintptr_t address) noexcept {
  return address / kDescriptorBytes;
}

std::uintptr_t address_of(const transfer::Region &region) noexcept {
  return reinterpret_cast<std::uintptr_t>(region.origin);
}

bool overlap(std::uintptr_t one, std::uintptr_t other) noexcept {
  return std::max(one, other) - std::min(one, other) < kDescriptorBytes;
}

}  // namespace

DescriptorLandings &DescriptorLandings::process() {
  static auto *landings = new DescriptorLandings();
  return *landings;
}

void LandingClaim::release() noexcept {
  if (address_ != 0) DescriptorLandings::process().release(std::exchange(address_, 0));
}

void LandingClaim::set_open(bool is_open) noexcept {
  if (address_ != 0) DescriptorLandings::process().set_open(address_, is_open);
}

DescriptorLandings::Held *DescriptorLandings::find_locked(std::uintptr_t address) noexcept {
  const std::uintptr_t stretch = stretch_of(address);
  for (const std::uintptr_t near : {stretch - 1, stretch, stretch + 1}) {
    const auto found = held_.find(near);
    if (found != held_.end() && overlap(address_of(found->second.region), address)) return &found->second;
  }
  return nullptr;
}

LandingClaim DescriptorLandings::claim(const transfer::Region &region) {
  const std::uintptr_t address = address_of(region);
  LandingClaim claim;
  const std::scoped_lock lock(mutex_);
  if (find_locked(address) != nullptr || address == 0) return claim;
  held_.emplace(stretch_of(address), Held{region});
  claim.address_ = address;
  return claim;
}

void DescriptorLandings::scatter_around(const transfer::Region &region, const std::byte *packed,
                                        std::uint64_t size_bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  const Held *held = find_locked(address_of(region));
  const bool is_kept = held != nullptr && held->is_open;
  DescriptorMessage head;
  if (is_kept) transfer::gather(held->region, head.bytes, sizeof head.bytes);
  transfer::scatter(region, packed, size_bytes);
  if (is_kept) transfer::scatter(held->region, head.bytes, sizeof head.bytes);
}

void DescriptorLandings::set_open(std::uintptr_t address, bool is_open) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = held_.find(stretch_of(address));
  if (found != held_.end()) found->second.is_open = is_open;
}

void DescriptorLandings::release(std::uintptr_t address) noexcept {
  const std::scoped_lock lock(mutex_);
  held_.erase(stretch_of(address));
}

}  // namespace sluice::ops
