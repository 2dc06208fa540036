// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_reach.hpp"

#include <utility>

namespace sluice::ops::coll {

Status NodeReach::open(int rank, const sluice_ipc_handle_t &handle, std::uint64_t base_address,
                       std::uint64_t allocation_bytes, const device::Place &place, std::byte **base) {
  if (rank == rank_) {
    *base = reinterpret_cast<std::byte *>(static_cast<std::uintptr_t>(base_address));
    return {};
  }
  const device::ExportOrigin origin{static_cast<std::uint64_t>(group_.world_rank(rank)), base_address,
                                    allocation_bytes};
  device::ImportedPtr imported;
  Status status = device::IpcImports::process().open(place.backend, place.device_index(), handle, origin, &imported);
  if (!status.is_ok()) return status;
  *base = imported->base();
  imported_.push_back(std::move(imported));
  return {};
}

bool NodeReach::hold(std::span<const std::weak_ptr<const device::Imported>> all) {
  imported_.reserve(all.size());
  for (const std::weak_ptr<const device::Imported> &one : all) {
    device::ImportedPtr imported = one.lock();
    if (imported == nullptr) {
      imported_.clear();
      return false;
    }
    imported_.push_back(std::move(imported));
  }
  return true;
}

}  // namespace sluice::ops::coll
