// SPDX-License-Identifier: BSD-3-Clause
#include "ops/comm/agreement.hpp"

#include "ops/request/turns.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {

namespace {

template <std::size_t N>
Status hear_all(MPI_Comm comm, Agreement<N> *agreement) {
  const int code = run_in_turns([&](MPI_Request *request) { return agreement->start(comm, request); });
  return wire::host_status(code, "have the ranks of a communicator agree on how they move their data");
}

}  // namespace

Status await_in_turns(int code, MPI_Request *request, std::string_view what) {
  if (code == MPI_SUCCESS) code = wait_in_turns(request, MPI_STATUS_IGNORE);
  return wire::host_status(code, what);
}

Status find_least(MPI_Comm comm, int value, int *least) {
  Agreement<1> agreement;
  agreement.say({value});
  Status status = hear_all(comm, &agreement);
  *least = status.is_ok() ? static_cast<int>(agreement.least(0)) : value;
  return status;
}

Status find_least(MPI_Comm comm, int value, int number, int *least, bool *is_alike) {
  Agreement<3> agreement;
  agreement.say({value, number, -static_cast<long long>(number)});
  Status status = hear_all(comm, &agreement);
  *least = status.is_ok() ? static_cast<int>(agreement.least(0)) : value;
  *is_alike = are_alike(agreement.least(1), agreement.least(2));
  return status;
}

Status agree_on_all(MPI_Comm comm, bool value, bool *is_true) {
  int least = 0;
  Status status = find_least(comm, value ? 1 : 0, &least);
  *is_true = status.is_ok() && least != 0;
  return status;
}

int come_together_by_host(MPI_Comm comm) {
  return run_in_turns([comm](MPI_Request *request) { return wire::host().MPI_Ibarrier(comm, request); });
}

}  // namespace sluice::ops
