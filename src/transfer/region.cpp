// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/region.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

namespace sluice::transfer {

std::int64_t Region::first_byte() const noexcept {
  // Elements may run backwards: then the last one is the lowest.
  return layout->first_byte + std::min<std::int64_t>(0, (count - 1) * layout->extent_bytes);
}

std::uint64_t Region::span_bytes() const noexcept {
  if (count <= 0) return 0;
  std::int64_t distance = 0;  // from the first element to the last
  std::int64_t span = 0;
  if (__builtin_mul_overflow(count - 1, layout->extent_bytes, &distance) ||
      distance == std::numeric_limits<std::int64_t>::min() ||
      __builtin_sub_overflow(layout->end_byte, layout->first_byte, &span) ||
      __builtin_add_overflow(span, std::abs(distance), &span) || span <= 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(span);
}

bool name_as_bytes(Region *region) {
  const Layout &layout = *region->layout;
  if (layout.is_contiguous || layout.blocks.size() != 1) return false;
  const Block &run = layout.blocks.front();
  const bool is_row = layout.extent_bytes >= 0 && static_cast<std::uint64_t>(layout.extent_bytes) == run.size_bytes;
  if (region->count != 1 && !is_row) return false;
  const std::uint64_t size_bytes = region->size_bytes();
  if (size_bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
  static const LayoutPtr bytes = std::make_shared<const Layout>(Layout::basic(1));
  region->origin = at(region->origin, run.offset_bytes);
  region->count = static_cast<std::int64_t>(size_bytes);
  region->layout = bytes;
  return true;
}

Status classify_payload(std::byte *origin, const Layout &layout, bool is_absolute, device::Backends backends,
                        device::Place *place) {
  Status status = device::classify(at(origin, layout.first_byte), backends, place);
  if (!is_absolute) return status;
  for (const Block &block : layout.blocks) {
    if (!status.is_ok() || place->kind != MemoryKind::kHost) break;
    status = device::classify(at(origin, block.offset_bytes), backends, place);
  }
  return status;
}

namespace {

// The two ends of a range, which has bytes.
struct Ends {
  device::Place first;
  device::Place last;

  [[nodiscard]] bool are_alike() const {
    return first.backend == last.backend && first.device == last.device && first.kind == last.kind &&
           first.allocation_id == last.allocation_id;
  }
};

Status classify_ends(const std::byte *lowest, std::uint64_t size_bytes, Ends *ends) {
  if (Status status = device::classify(lowest, &ends->first); !status.is_ok()) return status;
  return device::classify(lowest + size_bytes - 1, &ends->last);
}

}  // namespace

Status lies_in_one_allocation(const std::byte *lowest, std::uint64_t size_bytes, bool *is_one) {
  Ends ends;
  Status status = classify_ends(lowest, size_bytes, &ends);
  *is_one = status.is_ok() && ends.first.allocation_id != 0 && ends.are_alike();
  return status;
}

Status may_be_one_allocation(const std::byte *lowest, std::uint64_t size_bytes, bool *may_be) {
  Ends ends;
  Status status = classify_ends(lowest, size_bytes, &ends);
  *may_be = status.is_ok() && ends.are_alike();
  return status;
}

Status refuse_freed(const device::Place &place, const std::byte *origin) {
  if (place.kind != MemoryKind::kFreed) return {};
  return Status::error(
      ErrorKind::kBadBuffer,
      fmt::format("the buffer at {} was device memory of {} and has been freed; keep it allocated until "
                  "the operation is complete",
                  static_cast<const void *>(origin), place.backend->name()));
}

}  // namespace sluice::transfer
