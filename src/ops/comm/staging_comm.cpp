// SPDX-License-Identifier: BSD-3-Clause
#include "ops/comm/staging_comm.hpp"

#include <atomic>

#include "ops/comm/agreement.hpp"
#include "ops/env/quiet_errors.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {
namespace {

// Of a process, at a time.
constexpr int kMostComms = 256;

std::atomic<int> &n_comms() noexcept {
  static std::atomic<int> one{0};
  return one;
}

int copy_of(MPI_Comm comm, MPI_Comm *made) {
  const wire::Host &host = wire::host();
  int topology = MPI_UNDEFINED;
  int code = host.MPI_Topo_test(comm, &topology);
  // Nothing else is sure to have the same edges in the same order.
  if (code == MPI_SUCCESS && topology != MPI_UNDEFINED) return host.MPI_Comm_dup(comm, made);
  // Not a duplicate: that would copy the program's attributes.
  wire::OwnedGroup members;
  if (code == MPI_SUCCESS) code = host.MPI_Comm_group(comm, members.slot());
  if (code == MPI_SUCCESS) code = host.MPI_Comm_create(comm, members.get(), made);
  return code;
}

}  // namespace

Status StagingComm::make(MPI_Comm comm, bool *is_made) {
  Status status = agree_on_all(comm, n_comms().load() < kMostComms, is_made);
  if (!status.is_ok() || !*is_made) return status;
  bool is_good = false;
  {
    const QuietErrors quiet(comm);
    int code = come_together_by_host(comm);
    if (code == MPI_SUCCESS) code = copy_of(comm, comm_.slot());
    is_good = QuietErrors::is_success(code);
  }
  if (!is_good) static_cast<void>(comm_.release());  // whatever the host MPI has written there
  is_good = is_good && wire::host().MPI_Comm_set_errhandler(comm_.get(), MPI_ERRORS_RETURN) == MPI_SUCCESS;
  is_counted_ = true;
  n_comms().fetch_add(1);
  return agree_on_all(comm, is_good, is_made);
}

Status StagingComm::start_duplicate(MPI_Comm comm, MPI_Request *request) {
  return wire::host_status(wire::host().MPI_Comm_idup(comm, comm_.slot(), request),
                           "duplicate a communicator for staged data");
}

StagingComm::~StagingComm() {
  if (is_counted_) n_comms().fetch_sub(1);
  // In MPI_Finalize the host MPI deletes what still hangs on communicators, and takes no more calls.
  if (!wire::Channel::process().is_open()) static_cast<void>(comm_.release());
}

}  // namespace sluice::ops
