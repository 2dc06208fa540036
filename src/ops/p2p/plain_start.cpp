// SPDX-License-Identifier: BSD-3-Clause
#include "ops/p2p/plain_start.hpp"

#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {

Status PlainStart::prepare(Operation operation, int dest, int tag) {
  const statistics::Stopwatch watch;
  if (!is_open_) {
    if (Status status = side_.open(false); !status.is_ok()) return status;
    side_.name_message(operation, dest, tag);
    is_open_ = true;
  }
  if (Status status = side_.copy_down(); !status.is_ok()) return status;
  side_.record(operation, side_.size_bytes(), watch.elapsed());
  return {};
}

int PlainStart::start(Operation operation, int dest, int tag, MPI_Comm comm) {
  const wire::Host &host = wire::host();
  // A ready send may be a standard one; the program has seen to its receive.
  auto *const send = operation == Operation::kSsendInit ? host.MPI_Issend : host.MPI_Isend;
  outcome_ = {};
  side_.begin_wire();
  int result = send(side_.buffer(), static_cast<int>(side_.count()), side_.type(), dest, tag, comm, &request_);
  // The MPI-5 ABI of MPICH 5 returns success after it has called the program's error handler.
  if (result == MPI_SUCCESS && request_ == MPI_REQUEST_NULL) result = MPI_ERR_OTHER;
  if (result == MPI_SUCCESS) is_under_way_.store(true, std::memory_order_release);
  return result;
}

bool PlainStart::advance() {
  int is_done = 0;
  const int result = wire::host().MPI_Test(&request_, &is_done, MPI_STATUS_IGNORE);
  if (result == MPI_SUCCESS && is_done == 0) return false;
  if (result != MPI_SUCCESS) outcome_ = wire::host_failure(result, "complete the send of a staged payload");
  side_.end_sent();
  is_under_way_.store(false, std::memory_order_release);
  return true;
}

}  // namespace sluice::ops
