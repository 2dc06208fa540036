// SPDX-License-Identifier: BSD-3-Clause
// ChunkedCopy: one run of bytes, copied chunk by chunk as the chunks come to be there at the source. Without MPI.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "device/queue.hpp"

namespace sluice::transfer {

// How many chunks of `chunk_bytes` (> 0) hold `size_bytes`; the last may be shorter.
[[nodiscard]] constexpr std::uint64_t count_chunks(std::uint64_t size_bytes, std::uint64_t chunk_bytes) noexcept {
  return size_bytes / chunk_bytes + (size_bytes % chunk_bytes != 0 ? 1 : 0);
}

// One thread at a time. Up to kUnderWay chunks are under way at the same time, so that the device does not wait for the
// host between them. A queue that says that a chunk has ended moves nothing meanwhile, 6 us on an H200: two, by turns,
// go on (docs/adr/0014). When destroyed before it is done, waits.
class ChunkedCopy {
 public:
  // `copy` in chunks of `chunk_bytes` > 0. Source and destination stay valid until all has been copied.
  ChunkedCopy(const sluice_copy_t &copy, std::uint64_t chunk_bytes) noexcept
      : copy_(copy), chunk_bytes_(chunk_bytes), n_chunks_(count_chunks(copy.size_bytes, chunk_bytes)) {}

  // Takes queues of the device of `place`. Errors: the runtime gives none.
  [[nodiscard]] Status open(const device::Place &place);

  // Goes as far as the first `n_there` chunks allow; never blocks. Errors: those of the runtime; it is over then. Hot.
  [[nodiscard]] Status advance(std::uint64_t n_there);

  // In all; and copied, of which the first ones are at the destination.
  [[nodiscard]] std::uint64_t n_chunks() const noexcept { return n_chunks_; }
  [[nodiscard]] std::uint64_t n_copied() const noexcept { return n_copied_; }
  [[nodiscard]] bool is_done() const noexcept { return n_copied_ == n_chunks_; }

 private:
  static constexpr std::size_t kUnderWay = 4;

  sluice_copy_t copy_;
  std::uint64_t chunk_bytes_;
  std::uint64_t n_chunks_;
  std::uint64_t n_begun_ = 0;
  std::uint64_t n_copied_ = 0;
  std::array<device::Queue, 2> queues_;  // outlive the copies
  std::array<device::PendingCopy, kUnderWay> under_way_;
};

}  // namespace sluice::transfer
