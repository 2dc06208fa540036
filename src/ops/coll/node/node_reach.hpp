// SPDX-License-Identifier: BSD-3-Clause
// NodeReach: the device memory of the other ranks of a node, mapped here while a call uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/ipc_imports.hpp"
#include "ops/coll/node/node_group.hpp"

namespace sluice::ops::coll {

// Of one call at this rank. One thread at a time.
class NodeReach {
 public:
  NodeReach(const NodeGroup &group, int rank) noexcept : group_(group), rank_(rank) {}

  // The first byte of the allocation that `rank` published, for queues of the device of `place`; this rank's own as it
  // is, so those are this rank's own words. Held until release(). Errors: it cannot be reached; kBadPeer: there is
  // less memory than `rank` said.
  [[nodiscard]] Status open(int rank, const sluice_ipc_handle_t &handle, std::uint64_t base_address,
                            std::uint64_t allocation_bytes, const device::Place &place, std::byte **base);
  void release() noexcept { imported_.clear(); }
  // What is held.
  [[nodiscard]] std::span<const device::ImportedPtr> imported() const noexcept { return imported_; }
  // Holds all of those, or nothing, where one is closed.
  [[nodiscard]] bool hold(std::span<const std::weak_ptr<const device::Imported>> all);

 private:
  const NodeGroup &group_;
  const int rank_;
  std::vector<device::ImportedPtr> imported_;
};

}  // namespace sluice::ops::coll
