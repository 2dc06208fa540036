// SPDX-License-Identifier: BSD-3-Clause
#include "ops/comm/agreement.hpp"

#include <string>

#include "ops/request/turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

namespace {

template <std::size_t N>
Status hear_all(MPI_Comm comm, Agreement<N> *agreement) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = agreement->start(comm, &request);
  if (code == MPI_SUCCESS) code = wait_in_turns(&request, MPI_STATUS_IGNORE);
  return preparation_status(code, "MPI_Iallreduce failed");
}

}  // namespace

Status preparation_status(int code, const char *what) {
  if (code == MPI_SUCCESS) return {};
  return Status::error(
      ErrorKind::kBackend,
      std::string("the host MPI failed while the ranks of a communicator prepared to move device memory together: ") +
          what + "; set SLUICE_COLL_IPC=off and SLUICE_COLL_LEVELS=off");
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
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = wire::host().MPI_Ibarrier(comm, &request);
  return code == MPI_SUCCESS ? wait_in_turns(&request, MPI_STATUS_IGNORE) : code;
}

}  // namespace sluice::ops
