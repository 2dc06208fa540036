// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/descriptor_landings.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "transfer/descriptor.hpp"
#include "transfer/host_layout.hpp"

namespace sluice::ops {
namespace {

using transfer::kDescriptorBytes;

std::uintptr_t stretch_of(std::uintptr_t address) noexcept {
  return address / kDescriptorBytes;
}

std::uintptr_t address_of(const transfer::Region &region) noexcept {
  return reinterpret_cast<std::uintptr_t>(region.origin);
}

bool overlap(std::uintptr_t one, std::uintptr_t other) noexcept {
  return std::max(one, other) - std::min(one, other) < kDescriptorBytes;
}

// Where the first bytes of a region's payload lie, a descriptor's length of them.
class Head {
 public:
  explicit Head(const transfer::Region &region) noexcept {
    transfer::for_each_run(region, kDescriptorBytes, [this](std::byte *memory, std::uint64_t, std::uint64_t bytes) {
      if (n_runs_ < runs_.size()) runs_[n_runs_++] = {memory, memory + bytes};
      return true;
    });
    std::sort(runs_.begin(), runs_.begin() + n_runs_, [](const Run &a, const Run &b) { return a.begin < b.begin; });
  }

  // Copies `bytes` from `from` to `to`, but for those that would come to lie in the head.
  void copy_around(std::byte *to, const std::byte *from, std::uint64_t bytes) const noexcept {
    std::byte *const end = to + bytes;
    for (const Run &run : std::span(runs_).first(n_runs_)) {
      if (run.end <= to || run.begin >= end) continue;
      if (run.begin > to) std::memcpy(to, from, static_cast<std::size_t>(run.begin - to));
      from += std::min(run.end, end) - to;
      to = std::min(run.end, end);
    }
    if (to < end) std::memcpy(to, from, static_cast<std::size_t>(end - to));
  }

 private:
  struct Run {
    std::byte *begin;
    std::byte *end;
  };
  std::array<Run, kDescriptorBytes> runs_;  // none is empty, and none overlaps another
  std::size_t n_runs_ = 0;
};

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
  if (held == nullptr || !held->is_open) return transfer::scatter(region, packed, size_bytes);
  const Head head(held->region);
  transfer::for_each_run(region, size_bytes, [&](std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    head.copy_around(memory, packed + position, bytes);
    return true;
  });
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
