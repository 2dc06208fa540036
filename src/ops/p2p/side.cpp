// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/side.hpp"

#include "ops/datatype/layout_of.hpp"
#include "ops/env/errors.hpp"
#include "plan/policy.hpp"
#include "progress/tracked_requests.hpp"
#include "wire/status.hpp"

namespace sluice::ops {
namespace {

const std::byte *at(const void *origin, std::int64_t offset) noexcept {
  // MPI_BOTTOM is a null pointer, to which the language allows nothing to be added.
  return reinterpret_cast<const std::byte *>(reinterpret_cast<std::intptr_t>(origin) + offset);
}

// Where the payload lies. With MPI_BOTTOM each block has an address of its own, and one on a device is enough.
Status classify_payload(const void *buffer, const transfer::Layout &layout, device::Place *place) {
  Status status = device::classify(at(buffer, layout.first_byte), place);
  if (buffer != MPI_BOTTOM) return status;
  for (const transfer::Block &block : layout.blocks) {
    if (!status.is_ok() || place->kind != MemoryKind::kHost) break;
    status = device::classify(at(buffer, block.offset_bytes), place);
  }
  return status;
}

}  // namespace

Status Side::of(const void *buffer, MPI_Count count, MPI_Datatype type, int peer, Side *side) {
  // Sending does not change the buffer; one pointer serves both directions.
  side->buffer_ = const_cast<void *>(buffer);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  side->message_count_ = count;
  side->message_type_ = type;
  return peer == MPI_PROC_NULL ? Status() : side->classify(count, false);
}

Status Side::of_outgoing(const void *buffer, MPI_Count count, MPI_Datatype type, int peer, Side *side) {
  if (Status status = of(buffer, count, type, MPI_PROC_NULL, side); !status.is_ok()) return status;
  return peer == MPI_PROC_NULL ? Status() : side->classify(count, true);
}

Status Side::of_matched(const void *buffer, MPI_Count count, MPI_Datatype type, MPI_Message message, Side *side) {
  return of(buffer, count, type, message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : 0, side);
}

Status Side::classify(MPI_Count count, bool is_outgoing) {
  if (count <= 0 || !device::has_backends()) return {};
  transfer::LayoutPtr layout;
  const bool is_named = named_layout(message_type_, &layout);
  if (!is_named) {
    if (!is_valid(message_type_)) return {};  // the host MPI will say so, in its own words
    if (Status status = layout_of(message_type_, &layout); !status.is_ok()) return status;
  }
  device::Place place;
  if (Status status = classify_payload(buffer_, *layout, &place); !status.is_ok()) return status;
  region_ = {static_cast<std::byte *>(buffer_), count, std::move(layout), place};
  kind_ = place.kind;
  const bool is_contiguous = region_.layout->is_contiguous;
  // Absolute addresses may lead to several allocations, on devices and on the host: no image of those.
  const std::uint64_t span_bytes = is_contiguous || buffer_ == MPI_BOTTOM ? 0 : region_.span_bytes();
  plan_ = plan::choose({place.kind, region_.size_bytes(), is_contiguous, is_outgoing, span_bytes},
                       plan::policy_of(place.backend, place.device));
  return {};
}

Status Side::open(std::uint64_t largest_count) {
  if (plan_.form == plan::Form::kImage) return staged_.open_image(region_, plan_.staging_memory);
  if (plan_.form == plan::Form::kPacked) {
    const std::uint64_t bytes = region_.size_bytes();
    if (bytes > largest_count) {
      return Status::error(ErrorKind::kUnsupported,
                           "more than 2 GiB of a type with gaps cannot be staged through an int count; use the "
                           "large-count form (MPI_Send_c, ...) or send it in parts");
    }
    message_count_ = static_cast<MPI_Count>(bytes);
    message_type_ = MPI_PACKED;
  }
  return staged_.open(region_, plan_.staging_memory);
}

Status Side::copy_up(const MPI_Status &status) const {
  return is_staged() ? staged_.copy_up(wire::received_bytes(status)) : Status();
}

Status Side::copy_up_whole(const MPI_Status &status) const {
  int is_cancelled = 0;
  if (!is_staged() || (wire::host().MPI_Test_cancelled(&status, &is_cancelled) == MPI_SUCCESS && is_cancelled != 0)) {
    return {};
  }
  return staged_.copy_up(region_.size_bytes());
}

std::uint64_t Side::size_bytes() const noexcept {
  if (region_.layout != nullptr) return region_.size_bytes();
  MPI_Count size = 0;
  if (!statistics::is_enabled() || message_count_ <= 0 ||
      wire::host().MPI_Type_size_x(message_type_, &size) != MPI_SUCCESS) {
    return 0;
  }
  return static_cast<std::uint64_t>(size * message_count_);
}

int finish_receive(Operation operation, MPI_Comm communicator, const Side &side, const MPI_Status &status, int result,
                   std::chrono::nanoseconds time) {
  progress::TrackedRequests::process().reap(false);
  if (result != MPI_SUCCESS) return result;
  const Status copied = side.copy_up(status);
  if (statistics::is_enabled()) side.record(operation, wire::received_bytes(status), time);
  return copied.is_ok() ? MPI_SUCCESS : raise(communicator, copied);
}

}  // namespace sluice::ops
