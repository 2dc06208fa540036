// SPDX-License-Identifier: BSD-3-Clause
// PartitionFlags: the words by which streams and kernels of one device make the partitions of a send ready
// (docs/adr/0076).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "device/host_registration.hpp"
#include "device/place.hpp"
#include "ops/p2p/shared_partitions.hpp"

namespace sluice::ops {

// They lie as PartitionWords has it, under the same address for host and device. Where the device can reach them, they
// are those that the receiver reads; else memory of the device's runtime, which the host looks at and hands on.
// Threads: any, once they are made.
class PartitionFlags {
 public:
  // For a device, `place`, and `n_partitions`. `words`: of a message that may go directly; without memory for any
  // other. Blocks for the runtime. Errors: it refuses, or not now.
  [[nodiscard]] static Status make(const PartitionWords &words, std::uint64_t n_partitions, const device::Place &place,
                                   std::unique_ptr<PartitionFlags> *flags);
  // No command or kernel is left that writes one.
  ~PartitionFlags();
  PartitionFlags(const PartitionFlags &) = delete;
  PartitionFlags &operator=(const PartitionFlags &) = delete;
  PartitionFlags(PartitionFlags &&) = delete;
  PartitionFlags &operator=(PartitionFlags &&) = delete;

  [[nodiscard]] const device::Place &place() const noexcept { return place_; }
  // The receiver reads them.
  [[nodiscard]] bool are_shared() const noexcept { return are_shared_; }
  [[nodiscard]] std::uint64_t *flag(int partition) const noexcept {
    return base_ + PartitionWords::kFirstFlag + partition;
  }
  [[nodiscard]] const std::uint64_t *mark() const noexcept { return base_ + PartitionWords::kMark; }
  // Of which start kernels make partitions ready from now on.
  void begin(std::uint64_t start) const noexcept {
    __atomic_store_n(base_ + PartitionWords::kMark, PartitionWords::ready_mark(start), __ATOMIC_RELEASE);
  }
  // The partition was made ready in that start; what was done before is visible.
  [[nodiscard]] bool is_set(int partition, std::uint64_t start) const noexcept {
    return PartitionWords::start_of(__atomic_load_n(flag(partition), __ATOMIC_ACQUIRE)) == start;
  }

 private:
  PartitionFlags(std::uint64_t *base, const device::Place &place, bool are_shared) noexcept
      : base_(base), place_(place), are_shared_(are_shared) {}

  std::uint64_t *const base_;
  const device::Place place_;
  const bool are_shared_;
  device::HostRegistration registration_;  // of shared ones
};

}  // namespace sluice::ops
