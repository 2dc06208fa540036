// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/heads.hpp"

#include <algorithm>

#include "ops/p2p/descriptor.hpp"

namespace sluice::ops {
namespace {

std::uintptr_t stretch_of(std::uintptr_t address) noexcept {
  return address / kDescriptorBytes;
}

bool overlap(std::uintptr_t one, std::uintptr_t other) noexcept {
  return std::max(one, other) - std::min(one, other) < kDescriptorBytes;
}

}  // namespace

Heads &Heads::process() {
  static auto *heads = new Heads();
  return *heads;
}

void HeadClaim::release() noexcept {
  if (address_ != 0) Heads::process().release(std::exchange(address_, 0));
}

void HeadClaim::set_open(bool is_open) noexcept {
  if (address_ != 0) Heads::process().set_open(address_, is_open);
}

const Heads::Held *Heads::find_locked(std::uintptr_t address) const noexcept {
  const std::uintptr_t stretch = stretch_of(address);
  for (const std::uintptr_t near : {stretch - 1, stretch, stretch + 1}) {
    const auto found = held_.find(near);
    if (found != held_.end() && overlap(found->second.address, address)) return &found->second;
  }
  return nullptr;
}

HeadClaim Heads::claim(const void *buffer) {
  const auto address = reinterpret_cast<std::uintptr_t>(buffer);
  HeadClaim claim;
  const std::scoped_lock lock(mutex_);
  if (find_locked(address) != nullptr || address == 0) return claim;
  held_.emplace(stretch_of(address), Held{address, true});
  claim.address_ = address;
  return claim;
}

bool Heads::is_open(const void *buffer) {
  const std::scoped_lock lock(mutex_);
  const Held *held = find_locked(reinterpret_cast<std::uintptr_t>(buffer));
  return held != nullptr && held->is_open;
}

void Heads::set_open(std::uintptr_t address, bool is_open) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = held_.find(stretch_of(address));
  if (found != held_.end()) found->second.is_open = is_open;
}

void Heads::release(std::uintptr_t address) noexcept {
  const std::scoped_lock lock(mutex_);
  held_.erase(stretch_of(address));
}

}  // namespace sluice::ops
