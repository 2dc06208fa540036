// SPDX-License-Identifier: BSD-3-Clause
#include "ops/comm/agreement.hpp"

#include <string>

#include "ops/request/turns.hpp"
#include "wire/host.hpp"

namespace sluice::ops {

Status preparation_status(int code, const char *what) {
  if (code == MPI_SUCCESS) return {};
  return Status::error(
      ErrorKind::kBackend,
      std::string("the host MPI failed while the ranks of a communicator prepared to move device memory together: ") +
          what + "; set SLUICE_COLL_IPC=off and SLUICE_COLL_LEVELS=off");
}

Status find_least(MPI_Comm comm, int value, int *least) {
  *least = value;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = wire::host().MPI_Iallreduce(&value, least, 1, MPI_INT, MPI_MIN, comm, &request);
  if (code == MPI_SUCCESS) code = wait_in_turns(&request, MPI_STATUS_IGNORE);
  return preparation_status(code, "MPI_Iallreduce failed");
}

Status find_least(MPI_Comm comm, int value, int number, int *least, bool *is_alike) {
  const auto [end, negated] = both_ends(number);
  const std::array<int, 3> said = {value, end, negated};
  std::array<int, 3> heard = said;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = wire::host().MPI_Iallreduce(said.data(), heard.data(), static_cast<int>(said.size()), MPI_INT, MPI_MIN,
                                         comm, &request);
  if (code == MPI_SUCCESS) code = wait_in_turns(&request, MPI_STATUS_IGNORE);
  *least = code == MPI_SUCCESS ? heard[0] : value;
  *is_alike = are_alike(heard[1], heard[2]);
  return preparation_status(code, "MPI_Iallreduce failed");
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
