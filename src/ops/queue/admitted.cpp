// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/admitted.hpp"

#include <algorithm>

#include "ops/datatype/layout_of.hpp"
#include "ops/p2p/comm_state.hpp"

namespace sluice::ops::queue {

bool Admitted::has(const Arguments &given) noexcept {
  if (given.count < 0) return false;
  // A communicator went, and its handle may be another one's now.
  if (n_comms_gone_ != n_comms_gone()) n_kept_ = next_ = 0;
  return std::any_of(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(n_kept_), [&](const Arguments &kept) {
    return kept.peer == given.peer && kept.tag == given.tag && kept.is_send == given.is_send &&
           kept.type == given.type && kept.comm == given.comm;
  });
}

void Admitted::add(const Arguments &given) {
  transfer::LayoutPtr layout;
  if (given.count < 0 || !named_layout(given.type, &layout)) return;
  if (given.comm != MPI_COMM_WORLD && state_of(given.comm) == nullptr) return;
  if (n_kept_ == 0) n_comms_gone_ = n_comms_gone();
  kept_[next_] = given;
  next_ = (next_ + 1) % kMost;
  n_kept_ = std::max(n_kept_, next_ == 0 ? kMost : next_);
}

}  // namespace sluice::ops::queue
