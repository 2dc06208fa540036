// SPDX-License-Identifier: BSD-3-Clause
// Packing by hand.
#include "bench/memory/packer.hpp"

#include <cstring>

namespace sluice::bench {

Packer::Packer(DeviceModule *module, sluice_memory_kind_t kind, const MessageLayout &layout) {
  for (const Piece &piece : layout.pieces) {
    if (!pieces_.empty() && pieces_.back().offset + pieces_.back().size_bytes == piece.offset) {
      pieces_.back().size_bytes += piece.size_bytes;
    } else {
      pieces_.push_back(piece);
    }
  }
  if (kind == SLUICE_MEMORY_DEVICE || kind == SLUICE_MEMORY_SHARED) {
    queue_.emplace(*module);
    copies_.resize(pieces_.size());
  }
}

void Packer::pack(std::byte *packed, std::byte *message) {
  move(message, packed, true);
}

void Packer::unpack(std::byte *message, std::byte *packed) {
  move(message, packed, false);
}

void Packer::move(std::byte *message, std::byte *packed, bool is_pack) {
  if (pieces_.empty()) {
    return;
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    std::byte *const spread = message + pieces_[i].offset;
    std::byte *const dst = is_pack ? packed : spread;
    const std::byte *const src = is_pack ? spread : packed;
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
