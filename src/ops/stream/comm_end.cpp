// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_free and MPI_Comm_disconnect: what was enqueued travels on the communicator, and the stream may come to it
// late.
#include "generated/operations.hpp"
#include "ops/coll/host_calls.hpp"
#include "ops/env/wait_words.hpp"
#include "ops/stream/comm_streams.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

void finish_streams(std::string_view function, const MPI_Comm *comm) {
  const auto streams = comm != nullptr ? stream::streams_of(*comm) : nullptr;
  if (streams == nullptr) return;
  const CallOnComm call{function, *comm};
  const waiting::Described described(&tell_call_on_comm, &call);
  streams->finish();
}

}  // namespace

int comm_free(MPI_Comm *comm) {
  finish_streams("MPI_Comm_free", comm);
  return wire::host().MPI_Comm_free(comm);
}

int comm_disconnect(MPI_Comm *comm) {
  finish_streams("MPI_Comm_disconnect", comm);
  if (comm == nullptr) return wire::host().MPI_Comm_disconnect(comm);
  return after_barrier(*comm, [&] { return wire::host().MPI_Comm_disconnect(comm); });
}

}  // namespace sluice::ops
