// SPDX-License-Identifier: BSD-3-Clause
// CommMemo: a few things that are remembered of communicators by their handles, as long as no handle can be another
// communicator's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "ops/comm/comm_state.hpp"

namespace sluice::ops {

// Keeps the newest kMost entries. All are of MPI_COMM_WORLD or of communicators with a state: of another one nobody
// says when it goes. One thread at a time.
template <typename Entry, std::size_t kMost>
class CommMemo {
 public:
  // The entry that is meant; null: none is known. Valid until the next call. Hot.
  template <typename IsMeant>
  [[nodiscard]] const Entry *find(IsMeant is_meant) noexcept {
    if (const std::uint64_t n_gone = n_comms_gone(); n_gone != n_comms_gone_) {
      n_comms_gone_ = n_gone;
      n_kept_ = next_ = 0;
    }
    const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(n_kept_);
    const auto found = std::find_if(kept_.begin(), end, is_meant);
    return found != end ? &*found : nullptr;
  }

  // Of what was asked for since find() did not know it. Should a communicator have gone meanwhile, the next find()
  // forgets it with all others. Returns what is kept, until the next call.
  const Entry &keep(Entry entry) {
    Entry &kept = kept_[next_];
    kept = std::move(entry);
    next_ = (next_ + 1) % kMost;
    n_kept_ = std::min(n_kept_ + 1, kMost);
    return kept;
  }

 private:
  std::array<Entry, kMost> kept_{};
  std::size_t n_kept_ = 0;
  std::size_t next_ = 0;
  std::uint64_t n_comms_gone_ = 0;  // at the last find()
};

}  // namespace sluice::ops
