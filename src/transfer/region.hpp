// SPDX-License-Identifier: BSD-3-Clause
// Region: the memory of one side of a message as the program named it, and what is asked about it. Without MPI. All of
// it: any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "base/types.hpp"
#include "device/place.hpp"
#include "transfer/layout.hpp"

namespace sluice::transfer {

// The layout is held; the memory is the program's.
struct Region {
  std::byte *origin = nullptr;  // the address given to MPI
  std::int64_t count = 0;       // elements
  LayoutPtr layout;
  device::Place place;
  // How the payload is brought to staging memory and up again, if it has gaps: what plan/packing.hpp chose.
  PackMeans pack = PackMeans::kCopies;
  // An image comes down in one copy, gaps and all, where it lies in one allocation; else by runs, as `pack` says.
  bool is_one_copy = true;

  // Payload in bytes.
  [[nodiscard]] std::uint64_t size_bytes() const noexcept {
    return static_cast<std::uint64_t>(count) * layout->size_bytes;
  }
  // Offset of the lowest byte from the origin, and bytes from there to behind the highest; 0 bytes when that is more
  // than an offset can say, or nothing.
  [[nodiscard]] std::int64_t first_byte() const noexcept;
  [[nodiscard]] std::uint64_t span_bytes() const noexcept;
};

// Of a block that may be none at all, without a layout.
[[nodiscard]] inline std::uint64_t size_of(const Region &block) noexcept {
  return block.layout == nullptr ? 0 : block.size_bytes();
}

// Calls `visit(memory, position, bytes)` for each run of the first `size_bytes` of the payload, in the order in which
// it travels, with the run's position in it. `visit` returns whether to go on.
template <typename Visit>
void for_each_run(const Region &region, std::uint64_t size_bytes, Visit visit) {
  const std::uint64_t all = std::min(size_bytes, region.size_bytes());
  if (all == 0) return;  // then addresses may be null
  if (region.layout->is_contiguous) {
    visit(region.origin, std::uint64_t{0}, all);
    return;
  }
  std::uint64_t done = 0;
  for (std::int64_t element = 0; element < region.count; ++element) {
    const std::int64_t origin = element * region.layout->extent_bytes;
    for (const Block &block : region.layout->blocks) {
      const std::uint64_t size = std::min(all - done, block.size_bytes);
      if (size == 0 || !visit(at(region.origin, origin + block.offset_bytes), done, size)) return;
      done += size;
    }
  }
}

// Where the payload is one run of bytes that begins elsewhere than at the origin (whole rows of a matrix, one member of
// a structure, a type with a lower bound): `region` names that run, as bytes, and so is contiguous; true. Hot.
[[nodiscard]] bool name_as_bytes(Region *region);

// Where the payload of elements of `layout` at `origin` lies. `is_absolute`: addresses count from MPI_BOTTOM, so that
// each block may be in an allocation of its own, and one on a device is enough. Errors: a backend's query.
[[nodiscard]] Status classify_payload(std::byte *origin, const Layout &layout, bool is_absolute,
                                      device::Backends backends, device::Place *place);

// Whether the `size_bytes` from `lowest` on lie in one allocation of a device's runtime, which has memory between any
// two of its bytes: then what is between two of them may be read. Two queries. Errors: a backend's query.
[[nodiscard]] Status lies_in_one_allocation(const std::byte *lowest, std::uint64_t size_bytes, bool *is_one);

// Whether they do as far as the runtime can tell: one without numbers for allocations has the same device at both ends.
// Enough where only the blocks of a layout are touched, and not what is between them. Two queries. Errors: as above.
[[nodiscard]] Status may_be_one_allocation(const std::byte *lowest, std::uint64_t size_bytes, bool *may_be);

// How many of the `size_bytes` from `memory` on lie in the allocation of its first byte, as far as the runtime can
// tell; all of them in memory that belongs to none. Errors: kBadBuffer, where they leave the memory of the runtime; a
// backend's query. Some queries where they reach into another allocation, else two.
[[nodiscard]] Status find_bytes_in_allocation(const std::byte *memory, std::uint64_t size_bytes, std::uint64_t *bytes);

// Errors: kBadBuffer, where the first and the last of the `size_bytes` (> 0) from `lowest` on are not in one
// allocation: a program that counts further than its memory goes would reach another's; a backend's query. As far as
// the runtime can tell: one without numbers for allocations knows only where its memory ends. Two queries.
[[nodiscard]] Status refuse_past_the_end(const std::byte *lowest, std::uint64_t size_bytes);

// Errors: kBadBuffer, for a buffer whose memory the program has freed; none for any other.
[[nodiscard]] Status refuse_freed(const device::Place &place, const std::byte *origin);

}  // namespace sluice::transfer
