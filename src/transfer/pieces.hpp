// SPDX-License-Identifier: BSD-3-Clause
// Pieces: collects copies between a device and the host; neighbours within an allocation become one. A bounded batch:
// many small pieces must not need a list as large as the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.hpp"
#include "device/copy.hpp"
#include "device/place.hpp"
#include "sluice/backend.h"
#include "transfer/region.hpp"

namespace sluice::transfer {

// Adds a copy to `pieces`, or to the last of them when it goes on where that one ends. Those before `first` are of
// other allocations and stay as they are: what lies side by side may belong to two ranks, and no runtime copies over
// both at once.
inline void add_piece(std::byte *dst, const std::byte *src, std::uint64_t size_bytes, std::size_t first,
                      std::vector<sluice_copy_t> *pieces) {
  if (pieces->size() > first) {
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
    add_piece(dst, src, size_bytes, first_, &pieces_);
    return {};
  }

  // What is added from here on lies in another allocation than what was added before.
  void begin_allocation() noexcept { first_ = pieces_.size(); }

  [[nodiscard]] Status flush() {
    Status status = device::copy(place_, pieces_);
    pieces_.clear();
    first_ = 0;
    return status;
  }

 private:
  static constexpr std::size_t kBatch = 4096;
  device::Place place_;
  std::vector<sluice_copy_t> pieces_;
  std::size_t first_ = 0;  // of the allocation
};

// Calls `visit(memory, position, bytes)`, which adds to `pieces` and returns a status, for each run of the first
// `size_bytes` of the payload, up to an error. `is_absolute`: the addresses count from MPI_BOTTOM, so that a run may go
// on from one allocation into the next; then it is cut there. Errors: those of `visit`, and a run that leaves the
// memory of the runtime.
template <typename Visit>
[[nodiscard]] Status for_each_piece(const Region &region, std::uint64_t size_bytes, bool is_absolute, Pieces *pieces,
                                    Visit visit) {
  Status status;
  for_each_run(region, size_bytes, [&](std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    std::uint64_t part = bytes;
    for (std::uint64_t done = 0; done != bytes && status.is_ok(); done += part) {
      if (is_absolute) {
        pieces->begin_allocation();
        status = find_bytes_in_allocation(memory + done, bytes - done, &part);
      }
      if (status.is_ok()) status = visit(memory + done, position + done, part);
    }
    return status.is_ok();
  });
  return status;
}

}  // namespace sluice::transfer
