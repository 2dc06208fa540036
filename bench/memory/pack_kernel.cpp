// SPDX-License-Identifier: BSD-3-Clause
// Packing by one kernel of the device.
#include "bench/memory/pack_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <limits>
#include <utility>

#include "bench/memory/device_module.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint32_t kLargestUnitBytes = 16;
// The whole list is one tile: no list here is long enough for a search to matter.
constexpr std::uint32_t kTileShift = 31;

// Every n-th piece is as long as the one n before it, and as far behind it.
bool repeats(std::span<const Piece> pieces, std::size_t n) {
  const std::uint64_t stride = pieces[n].offset - pieces[0].offset;
  for (std::size_t i = n; i < pieces.size(); ++i) {
    if (pieces[i].size_bytes != pieces[i - n].size_bytes || pieces[i].offset - pieces[i - n].offset != stride) {
      return false;
    }
  }
  return true;
}

// How many pieces repeat: datatypes here have one or two in a period; all of them where there is a rest.
std::size_t period_of(std::span<const Piece> pieces) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}}) {
    if (pieces.size() > n && pieces.size() % n == 0 && repeats(pieces, n)) {
      return n;
    }
  }
  return pieces.size();
}

// The words of a list whose pieces are of unlike lengths; false when one needs more than 32 bits.
bool describe_list(std::span<const Piece> core, PackShape &shape) {
  std::uint64_t bits = kLargestUnitBytes;
  for (const Piece &piece : core) {
    bits |= piece.offset | piece.size_bytes;
  }
  const int shift = std::countr_zero(bits);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (shape.layout.core_bytes >> shift > kMost) {
    return false;
  }
  for (const Piece &piece : core) {
    if (piece.offset >> shift > kMost) {
      return false;
    }
    shape.list.push_back(static_cast<std::uint32_t>(piece.offset >> shift));
  }
  std::uint32_t before = 0;
  for (const Piece &piece : core) {
    shape.list.push_back(before);
    before += static_cast<std::uint32_t>(piece.size_bytes >> shift);
  }
  shape.list.push_back(before);
  shape.list.push_back(0);
  shape.list.push_back(static_cast<std::uint32_t>(core.size() - 1));
  shape.layout.n_blocks = static_cast<std::uint32_t>(core.size());
  shape.layout.list_bytes = shape.list.size() * sizeof(std::uint32_t);
  shape.layout.list_unit_bytes = 1U << static_cast<unsigned>(shift);
  shape.layout.tile_shift = kTileShift;
  return true;
}

}  // namespace

std::optional<PackShape> shape_of(std::span<const Piece> pieces) {
  const std::size_t period = period_of(pieces);
  const std::span<const Piece> core = pieces.first(period);
  PackShape shape;
  for (const Piece &piece : core) {
    shape.layout.core_bytes += piece.size_bytes;
  }
  if (period < pieces.size()) {
    shape.layout.n_dimensions = 1;
    shape.layout.dimensions[0] = {pieces.size() / period,
                                  static_cast<std::int64_t>(pieces[period].offset - pieces[0].offset)};
  }
  if (period == 1) {
    shape.origin_offset = core.front().offset;
  } else if (!describe_list(core, shape)) {
    return std::nullopt;
  }
  std::uint64_t lowest = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end = 0;
  for (const Piece &piece : pieces) {
    lowest = std::min(lowest, piece.offset);
    end = std::max(end, piece.offset + piece.size_bytes);
  }
  shape.lowest_bytes = static_cast<std::int64_t>(lowest - shape.origin_offset);
  shape.span_bytes = end - lowest;
  return shape;
}

bool PackKernel::is_there(const DeviceModule &module) {
  const sluice_backend_t &table = module.table();
  return table.can_pack != nullptr && table.can_pack(module.device()) != 0;
}

PackKernel::PackKernel(DeviceModule &module, PackShape shape) : module_(module), shape_(std::move(shape)) {
  if (shape_.list.empty()) {
    return;
  }
  const std::uint64_t list_bytes = shape_.layout.list_bytes;
  module_.require(module_.table().device_alloc(module_.device(), list_bytes, &list_), "memory for a list of blocks");
  shape_.layout.list = list_;
  module_.copy(list_, shape_.list.data(), list_bytes);
}

PackKernel::~PackKernel() {
  if (list_ != nullptr && module_.table().device_free(module_.device(), list_) != SLUICE_SUCCESS) {
    fmt::print(stderr, "sluice-bench: a list of blocks could not be freed: {}\n", module_.table().last_error());
  }
}

bool PackKernel::enqueue(DeviceQueue &queue, sluice_pack_direction_t direction, std::byte *message, std::byte *packed,
                         std::uint64_t size_bytes) {
  sluice_pack_t pack{};
  pack.direction = direction;
  pack.form = SLUICE_PACKED;
  pack.layout = shape_.layout;
  pack.origin = message + shape_.origin_offset;
  pack.beside = packed;
  pack.lowest_bytes = shape_.lowest_bytes;
  pack.span_bytes = shape_.span_bytes;
  pack.size_bytes = size_bytes;
  return queue.try_enqueue(pack);
}

}  // namespace sluice::bench
