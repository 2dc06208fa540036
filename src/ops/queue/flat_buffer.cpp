// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/flat_buffer.hpp"

#include <fmt/format.h>

#include "ops/datatype/layout_of.hpp"
#include "plan/policy.hpp"
#include "transfer/host_layout.hpp"

namespace sluice::ops::queue {

Status classify_buffer(const Arguments &given, const device::Stream &stream, transfer::Region *region) {
  transfer::LayoutPtr layout;
  if (Status status = layout_if_valid(given.type, &layout); !status.is_ok()) return status;
  if (layout == nullptr) {
    return Status::error(
        ErrorKind::kBadType,
        "the datatype of a message is none, or not committed; give one that was committed (MPI_Type_commit)");
  }
  device::Place place;
  auto *origin = static_cast<std::byte *>(given.buffer);
  if (given.count > 0 && given.peer != MPI_PROC_NULL) {
    Status status =
        transfer::classify_payload(origin, *layout, given.buffer == MPI_BOTTOM, device::loaded_backends(), &place);
    if (!status.is_ok()) return status;
  }
  if (place.kind == MemoryKind::kFreed) {
    return Status::error(ErrorKind::kBadBuffer,
                         "the buffer was freed before the message was enqueued; free it when the message is complete");
  }
  if (place.kind == MemoryKind::kDevice && (place.backend != &stream.backend() || place.device != stream.device())) {
    return Status::error(
        ErrorKind::kBadBuffer,
        fmt::format("the buffer is memory of {} device {}, and the queue's stream works on {} device {}; "
                    "make the queue for a stream of the buffer's device",
                    place.backend->name(), place.device, stream.backend().name(), stream.device()));
  }
  *region = {origin, given.count, std::move(layout), place};
  static_cast<void>(transfer::name_as_bytes(region));
  return {};
}

Status FlatBuffer::open() {
  if (size_bytes() == 0 || (!is_device() && region_.layout->is_contiguous)) return {};
  const plan::Policy &policy = plan::policy_of(region_.place.backend, region_.place.device);
  return staged_.open(region_, is_device() ? policy.staging_memory : StagingMemory::kMalloc);
}

Status FlatBuffer::copy_down() const {
  if (!staged_.is_open()) return {};
  if (is_device()) return staged_.copy_down();
  transfer::gather(region_, staged_.data(), region_.size_bytes());
  return {};
}

Status FlatBuffer::copy_up(std::uint64_t size_bytes) const {
  if (!staged_.is_open()) return {};
  if (is_device()) return staged_.copy_up(size_bytes);
  transfer::scatter(region_, staged_.data(), size_bytes);
  return {};
}

}  // namespace sluice::ops::queue
