// SPDX-License-Identifier: BSD-3-Clause
// Packing by hand.
#include "bench/memory/packer.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace sluice::bench {
namespace {

constexpr const char *kRemedy = "give --pack-by copies, or auto";

// Null where the device has none for these pieces; then an error when it is a must.
std::unique_ptr<PackKernel> kernel_for(DeviceModule &module, const std::vector<Piece> &pieces, PackWay wanted) {
  if (wanted == PackWay::copies || pieces.empty()) {
    return nullptr;
  }
  std::optional<PackShape> shape;
  if (PackKernel::is_there(module)) {
    shape = shape_of(pieces);
  }
  if (!shape && wanted == PackWay::kernel) {
    throw DeviceError(fmt::format("device module '{}' has no kernel that packs this: {}", module.name(), kRemedy));
  }
  return shape ? std::make_unique<PackKernel>(module, *std::move(shape)) : nullptr;
}

}  // namespace

Packer::Packer(DeviceModule *module, sluice_memory_kind_t kind, const MessageLayout &layout, PackWay wanted)
    : size_bytes_(layout.size_bytes), wanted_(wanted) {
  for (const Piece &piece : layout.pieces) {
    if (!pieces_.empty() && pieces_.back().offset + pieces_.back().size_bytes == piece.offset) {
      pieces_.back().size_bytes += piece.size_bytes;
    } else {
      pieces_.push_back(piece);
    }
  }
  if (kind == SLUICE_MEMORY_DEVICE || kind == SLUICE_MEMORY_SHARED) {
    queue_.emplace(*module);
    kernel_ = kernel_for(*module, pieces_, wanted);
    copies_.resize(pieces_.size());
  }
}

const char *Packer::way() const {
  return !queue_ ? "cpu" : kernel_ ? "kernel" : "copies";
}

void Packer::pack(std::byte *packed, std::byte *message) {
  move(message, packed, SLUICE_PACK);
}

void Packer::unpack(std::byte *message, std::byte *packed) {
  move(message, packed, SLUICE_UNPACK);
}

// False, from then on, when the device does not take this memory in a kernel.
bool Packer::move_by_kernel(std::byte *message, std::byte *packed, sluice_pack_direction_t direction) {
  if (kernel_ == nullptr || !queue_) {
    return false;
  }
  if (kernel_->enqueue(*queue_, direction, message, packed, size_bytes_)) {
    queue_->wait();
    return true;
  }
  if (wanted_ == PackWay::kernel) {
    throw DeviceError(fmt::format("the device has no kernel that packs this memory: {}", kRemedy));
  }
  kernel_.reset();
  return false;
}

void Packer::move(std::byte *message, std::byte *packed, sluice_pack_direction_t direction) {
  if (pieces_.empty() || move_by_kernel(message, packed, direction)) {
    return;
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    std::byte *const spread = message + pieces_[i].offset;
    std::byte *const dst = direction == SLUICE_PACK ? packed : spread;
    const std::byte *const src = direction == SLUICE_PACK ? spread : packed;
    packed += pieces_[i].size_bytes;
    if (queue_) {
      copies_[i] = {dst, src, pieces_[i].size_bytes};
    } else {
      std::memcpy(dst, src, pieces_[i].size_bytes);
    }
  }
  if (queue_) {
    queue_->enqueue(copies_);
    queue_->wait();
  }
}

}  // namespace sluice::bench
