// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/chunked_copy.hpp"

#include <algorithm>

namespace sluice::transfer {

Status ChunkedCopy::open(const device::Place &place) {
  for (device::Queue &queue : queues_) {
    if (Status status = queue.acquire(place); !status.is_ok()) return status;
  }
  return {};
}

Status ChunkedCopy::advance(std::uint64_t n_there) {
  n_there = std::min(n_there, n_chunks_);
  while (n_begun_ < n_there && n_begun_ - n_copied_ < kUnderWay) {
    const std::uint64_t offset = n_begun_ * chunk_bytes_;
    const sluice_copy_t piece = {static_cast<std::byte *>(copy_.dst) + offset,
                                 static_cast<const std::byte *>(copy_.src) + offset,
                                 std::min<std::uint64_t>(chunk_bytes_, copy_.size_bytes - offset)};
    device::Queue &queue = queues_[n_begun_ % queues_.size()];
    if (Status status = under_way_[n_begun_ % kUnderWay].begin(&queue, {&piece, 1}); !status.is_ok()) return status;
    ++n_begun_;
  }
  while (n_copied_ < n_begun_) {
    bool is_done = false;
    if (Status status = under_way_[n_copied_ % kUnderWay].poll(&is_done); !status.is_ok()) return status;
    if (!is_done) break;
    ++n_copied_;
  }
  return {};
}

}  // namespace sluice::transfer
