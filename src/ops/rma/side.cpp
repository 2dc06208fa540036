// SPDX-License-Identifier: BSD-3-Clause
#include "ops/rma/side.hpp"

#include <algorithm>
#include <cstring>

#include "device/copy.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/datatype/pack_choice.hpp"
#include "plan/policy.hpp"
#include "transfer/host_layout.hpp"
#include "transfer/packing.hpp"
#include "transfer/staged.hpp"

namespace sluice::ops::rma {
namespace {

StagingMemory staging_memory_of(const device::Place &place) {
  return plan::policy_of(place.backend, place.device).staging_memory;
}

}  // namespace

Status find_layout(const Argument &argument, transfer::LayoutPtr *layout) {
  if (argument.count < 0) {
    return Status::error(ErrorKind::kBadCount, "a one-sided operation was given a negative count; give 0 or more");
  }
  Status status = layout_if_valid(argument.type, layout);
  if (status.is_ok() && *layout == nullptr) {
    return Status::error(ErrorKind::kBadType,
                         "a one-sided operation was given a datatype that is none, or that is not committed; give one "
                         "that was committed (MPI_Type_commit)");
  }
  return status;
}

Status classify(const Argument &argument, transfer::Region *region) {
  if (Status status = find_layout(argument, &region->layout); !status.is_ok()) return status;
  region->origin = static_cast<std::byte *>(argument.buffer);
  region->count = argument.count;
  if (region->size_bytes() == 0) return {};
  const bool is_absolute = argument.buffer == MPI_BOTTOM;
  Status status = transfer::classify_payload(region->origin, *region->layout, is_absolute, device::loaded_backends(),
                                             &region->place);
  if (status.is_ok()) status = transfer::refuse_freed(region->place, region->origin);
  if (!status.is_ok() || is_host(*region) || is_absolute) return status;
  static_cast<void>(transfer::name_as_bytes(region));
  if (!region->layout->is_contiguous) {
    choose_pack(plan::PackLeg::kStaging, transfer::most_runs(*region->layout, region->count), region);
  }
  return {};
}

Status read_payload(const transfer::Region &region, std::uint64_t size_bytes, std::byte *packed) {
  if (size_bytes == 0) return {};
  if (is_host(region)) {
    transfer::gather(region, packed, size_bytes);
    return {};
  }
  if (region.layout->is_contiguous) return device::copy(region.place, packed, region.origin, size_bytes);
  transfer::Staged staged;
  Status status = staged.open(region, staging_memory_of(region.place));
  if (status.is_ok()) status = staged.copy_down();
  if (status.is_ok()) std::memcpy(packed, staged.data(), std::min(size_bytes, region.size_bytes()));
  return status;
}

Status write_payload(const transfer::Region &region, std::uint64_t size_bytes, const std::byte *packed) {
  if (size_bytes == 0) return {};
  if (is_host(region)) {
    transfer::scatter(region, packed, size_bytes);
    return {};
  }
  if (region.layout->is_contiguous) return device::copy(region.place, region.origin, packed, size_bytes);
  transfer::Staged staged;
  Status status = staged.open(region, staging_memory_of(region.place));
  if (!status.is_ok()) return status;
  std::memcpy(staged.data(), packed, size_bytes);
  return staged.copy_up(size_bytes);
}

}  // namespace sluice::ops::rma
