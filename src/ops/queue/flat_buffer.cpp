// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/flat_buffer.hpp"

#include "ops/datatype/layout_of.hpp"
#include "plan/policy.hpp"
#include "transfer/host_layout.hpp"

namespace sluice::ops::queue {

Status FlatBuffer::look(const Arguments &given, const device::Place *first) {
  transfer::LayoutPtr layout;
  if (!named_layout(given.type, &layout)) {
    if (Status status = layout_of(given.type, &layout); !status.is_ok()) return status;
  }
  device::Place place;
  auto *origin = static_cast<std::byte *>(given.buffer);
  if (first != nullptr && given.buffer != MPI_BOTTOM) {
    place = *first;
  } else if (given.count > 0) {
    Status status =
        transfer::classify_payload(origin, *layout, given.buffer == MPI_BOTTOM, device::loaded_backends(), &place);
    if (!status.is_ok()) return status;
  }
  region_ = {origin, given.count, std::move(layout), place};
  static_cast<void>(transfer::name_as_bytes(&region_));
  is_device_ = place.kind == MemoryKind::kDevice || place.kind == MemoryKind::kShared;
  return {};
}

Status FlatBuffer::open() {
  if (region_.size_bytes() == 0 || (!is_device_ && region_.layout->is_contiguous)) return {};
  const plan::Policy &policy = plan::policy_of(region_.place.backend, region_.place.device);
  return staged_.open(region_, is_device_ ? policy.staging_memory : StagingMemory::kMalloc);
}

Status FlatBuffer::copy_down() const {
  if (!staged_.is_open()) return {};
  if (is_device_) return staged_.copy_down();
  transfer::gather(region_, staged_.data(), region_.size_bytes());
  return {};
}

Status FlatBuffer::copy_up(std::uint64_t size_bytes) const {
  if (!staged_.is_open()) return {};
  if (is_device_) return staged_.copy_up(size_bytes);
  transfer::scatter(region_, staged_.data(), size_bytes);
  return {};
}

}  // namespace sluice::ops::queue
