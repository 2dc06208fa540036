// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/region.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <string_view>

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

  [[nodiscard]] bool are_of_one_allocation() const {
    return first.backend == last.backend && first.kind == last.kind && first.allocation_id == last.allocation_id;
  }
  [[nodiscard]] bool are_alike() const { return are_of_one_allocation() && first.device == last.device; }
};

Status classify_ends(const std::byte *lowest, std::uint64_t size_bytes, Ends *ends) {
  if (Status status = device::classify(lowest, &ends->first); !status.is_ok()) return status;
  return device::classify(lowest + size_bytes - 1, &ends->last);
}

Status past_the_end(const device::Place &place, const std::byte *lowest, std::uint64_t size_bytes) {
  const std::string_view owner = place.backend != nullptr ? place.backend->name() : "the host";
  return Status::error(
      ErrorKind::kBadBuffer,
      fmt::format("{} bytes at {} run over the end of an allocation of {}; check that the buffer was not freed and "
                  "holds as many elements as the call says",
                  size_bytes, static_cast<const void *>(lowest), owner));
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

Status find_bytes_in_allocation(const std::byte *memory, std::uint64_t size_bytes, std::uint64_t *bytes) {
  *bytes = size_bytes;
  Ends ends;
  Status status = classify_ends(memory, size_bytes, &ends);
  if (!status.is_ok() || ends.are_of_one_allocation() || ends.first.backend == nullptr) return status;
  if (ends.first.allocation_id == 0) {  // it shows only where memory of the runtime ends
    return ends.last.kind == ends.first.kind ? status : past_the_end(ends.first, memory, size_bytes);
  }
  std::uint64_t inside = 1;  // so many are, and of `outside` the last is not
  std::uint64_t outside = size_bytes;
  while (outside - inside > 1) {
    const std::uint64_t middle = inside + (outside - inside) / 2;
    device::Place place;
    status = device::classify(memory + middle - 1, &place);
    if (!status.is_ok()) return status;
    (place.allocation_id == ends.first.allocation_id ? inside : outside) = middle;
  }
  *bytes = inside;
  device::Place next;
  status = device::classify(memory + inside, &next);
  if (!status.is_ok() || next.kind == ends.first.kind) return status;
  return past_the_end(ends.first, memory, size_bytes);
}

Status refuse_past_the_end(const std::byte *lowest, std::uint64_t size_bytes) {
  Ends ends;
  Status status = classify_ends(lowest, size_bytes, &ends);
  if (!status.is_ok() || ends.are_of_one_allocation()) return status;
  return past_the_end(ends.first, lowest, size_bytes);
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
