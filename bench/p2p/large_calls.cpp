// SPDX-License-Identifier: BSD-3-Clause
// The plain calls with counts of 64 bits.
#include "bench/p2p/large_calls.hpp"

#include <utility>

#include "bench/mpi/newer_calls.hpp"

namespace sluice::bench {

LargeCalls::LargeCalls(Slots slots, const MessageType &type, const FamilyOptions &)
    : Calls(std::move(slots), type),
      large_count_(type.large_count()),
      send_(require_mpi_function<Send>("MPI_Send_c")),
      recv_(require_mpi_function<Recv>("MPI_Recv_c")),
      isend_(require_mpi_function<StartSend>("MPI_Isend_c")),
      irecv_(require_mpi_function<StartRecv>("MPI_Irecv_c")),
      get_count_(require_mpi_function<GetCount>("MPI_Get_count_c")) {}

std::string LargeCalls::verify_statuses() const {
  return verify_counts(large_count_, [this](const MPI_Status &status) {
    MPI_Count count = -1;
    check_mpi(get_count_(&status, type_, &count), "MPI_Get_count_c");
    return count;
  });
}

}  // namespace sluice::bench
