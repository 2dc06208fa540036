// SPDX-License-Identifier: BSD-3-Clause
// post_receive(): a non-blocking receive given to the host MPI, unless a probe has claimed the message already.
#pragma once

#include <optional>

#include "ops/p2p/incoming.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

template <typename Count>
using IrecvFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
template <typename Count>
using ImrecvFunction = int (*wire::Host::*)(void *, Count, MPI_Datatype, MPI_Message *, MPI_Request *);

// Starts `irecv`, or `imrecv` of the claimed message that this receive has to take; *envelope is that message's own.
// Returns the host MPI's error code.
template <typename Count>
int post_receive(IrecvFunction<Count> irecv, ImrecvFunction<Count> imrecv, void *buffer, Count count, MPI_Datatype type,
                 int source, int tag, MPI_Comm comm, MPI_Request *request, std::optional<Envelope> *envelope) {
  Posting posting = look_at_claims(comm, source, tag);
  if (!posting.claim.has_value()) return (wire::host().*irecv)(buffer, count, type, source, tag, comm, request);
  if (posting.claim->is_copy) *envelope = posting.claim->envelope;
  return (wire::host().*imrecv)(buffer, count, type, &posting.claim->message, request);
}

}  // namespace sluice::ops
