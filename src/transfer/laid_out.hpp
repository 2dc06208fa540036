// SPDX-License-Identifier: BSD-3-Clause
// LaidOut: where a payload lies, in memory of this process or mapped from another, as kernels take it; and the one
// command that moves a payload from such a place to another. Without MPI. All of it: any thread, and a queue is for one
// at a time.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "device/queue.hpp"
#include "sluice/backend.h"
#include "transfer/region.hpp"
#include "transfer/strided.hpp"

namespace sluice::transfer {

struct LaidOut {
  std::byte *origin = nullptr;    // of the first core
  sluice_layout_t layout{};       // its list, if it has one, lives as long as the region's layout
  std::int64_t lowest_bytes = 0;  // from the origin to the lowest byte: 0, or less
  std::uint64_t span_bytes = 0;

  // The payload has no gaps.
  [[nodiscard]] bool is_one_run() const noexcept { return layout.n_dimensions == 0 && layout.n_blocks == 0; }
};

// The payload of `region`, which has bytes. Errors: those of describe_pack().
[[nodiscard]] Status lay_out(const Region &region, LaidOut *payload);

// The payload of `block`, which has bytes and lies within the allocation that is mapped at `base`.
[[nodiscard]] LaidOut lay_out(const StridedBlock &block, const std::byte *base);

// Enqueues the move of `size_bytes`, all of both payloads, from `from`, which is only read, to `to`; returns before it
// is done. Both stay until a later ticket of the queue is done. A kernel that cannot do it sets *is_refused, and
// nothing was enqueued. Errors: those of the runtime; the queue is given up then.
[[nodiscard]] Status enqueue_move(device::Queue *queue, const LaidOut &from, const LaidOut &to,
                                  std::uint64_t size_bytes, bool *is_refused);

}  // namespace sluice::transfer
