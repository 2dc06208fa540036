// SPDX-License-Identifier: BSD-3-Clause
// DescriptorLandings: the beginnings of host buffers into which a descriptor may come to lie. Programs that measure
// post a window of receives into one and the same buffer; a descriptor that came into one of them would be overwritten
// by what comes into the next, before anybody has read it. Where that could be, all receives but one get room of their
// own, and leave the beginning of the buffer alone while that one waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "transfer/staged.hpp"

namespace sluice::ops {

// A claim on the beginning of one buffer. It holds until it is destroyed, and is open while its receive waits for what
// comes. Movable. One thread at a time.
class LandingClaim {
 public:
  LandingClaim() noexcept = default;
  LandingClaim(LandingClaim &&other) noexcept : address_(std::exchange(other.address_, 0)) {}
  LandingClaim &operator=(LandingClaim &&other) noexcept {
    if (this != &other) {
      release();
      address_ = std::exchange(other.address_, 0);
    }
    return *this;
  }
  LandingClaim(const LandingClaim &) = delete;
  LandingClaim &operator=(const LandingClaim &) = delete;
  ~LandingClaim() { release(); }

  [[nodiscard]] bool is_empty() const noexcept { return address_ == 0; }
  // Whether descriptors may land here now, and others have to leave the beginning alone. Then the end of the claim:
  // nothing lands any more.
  void set_open(bool is_open) noexcept;
  void release() noexcept;

 private:
  friend class DescriptorLandings;
  std::uintptr_t address_ = 0;
};

// Threads: any.
class DescriptorLandings {
 public:
  // The process's. Never destroyed.
  static DescriptorLandings &process();

  // Claims where a descriptor comes to lie in `region`, which is as long as one or longer. An empty claim when
  // another's beginning is less than a descriptor's length away.
  [[nodiscard]] LandingClaim claim(const transfer::Region &region);
  // transfer::scatter() into a region that could not be claimed: not to bytes in which the receive that holds the claim
  // may find a descriptor, as long as it waits. These bytes are not written at all, because the host MPI may write them
  // meanwhile. What comes into that receive lies there in the end, since the program has given both the same place.
  void scatter_around(const transfer::Region &region, const std::byte *packed, std::uint64_t size_bytes) noexcept;

 private:
  friend class LandingClaim;
  struct Held {
    transfer::Region region;
    bool is_open = true;
  };
  [[nodiscard]] Held *find_locked(std::uintptr_t address) noexcept;
  void set_open(std::uintptr_t address, bool is_open) noexcept;
  void release(std::uintptr_t address) noexcept;

  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, Held> held_;  // at most one in each stretch of a descriptor's length
};

}  // namespace sluice::ops
