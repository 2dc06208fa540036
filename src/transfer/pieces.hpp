// SPDX-License-Identifier: BSD-3-Clause
// Pieces: collects copies between a device and the host; neighbours become one. A bounded batch: many small pieces must
// not need a list as large as the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "device/copy.hpp"
#include "device/place.hpp"
#include "sluice/backend.h"

namespace sluice::transfer {

// Adds a copy to `pieces`, or to the last of them when it goes on where that one ends.
inline void add_piece(std::byte *dst, const std::byte *src, std::uint64_t size_bytes,
                      std::vector<sluice_copy_t> *pieces) {
  if (!pieces->empty()) {
    sluice_copy_t &last = pieces->back();
    if (static_cast<std::byte *>(last.dst) + last.size_bytes == dst &&
        static_cast<const std::byte *>(last.src) + last.size_bytes == src) {
      last.size_bytes += size_bytes;
      return;
    }
  }
  pieces->push_back({dst, src, size_bytes});
}

// One thread at a time. What was added is copied by flush() at the latest.
class Pieces {
 public:
  explicit Pieces(const device::Place &place) : place_(place) {}

  // May copy what was added before, and blocks then. Errors: those of the runtime.
  [[nodiscard]] Status add(std::byte *dst, const std::byte *src, std::uint64_t size_bytes) {
    if (size_bytes == 0) return {};
    if (pieces_.size() == kBatch) {
      if (Status status = flush(); !status.is_ok()) return status;
    }
    add_piece(dst, src, size_bytes, &pieces_);
    return {};
  }

  [[nodiscard]] Status flush() {
    Status status = device::copy(place_, pieces_);
    pieces_.clear();
    return status;
  }

 private:
  static constexpr std::size_t kBatch = 4096;
  device::Place place_;
  std::vector<sluice_copy_t> pieces_;
};

}  // namespace sluice::transfer
