// SPDX-License-Identifier: BSD-3-Clause
// post_receive(): a non-blocking receive given to the host MPI, unless a probe has claimed the message already.
#pragma once

#include <optional>

#include "ops/p2p/incoming.hpp"

namespace sluice::ops {

// Starts the receive by `start()`, or by `take(message)` of the claimed message that it has to take; *envelope is that
// message's own. Both return the host MPI's error code, and so does this. Any thread.
template <typename Start, typename Take>
int post_receive(MPI_Comm comm, int source, int tag, std::optional<Envelope> *envelope, Start start, Take take) {
  Posting posting = look_at_claims(comm, source, tag);
  if (!posting.claim.has_value()) return start();
  if (posting.claim->is_copy) *envelope = posting.claim->envelope;
  return take(&posting.claim->message);
}

}  // namespace sluice::ops
