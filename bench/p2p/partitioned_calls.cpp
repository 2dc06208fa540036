// SPDX-License-Identifier: BSD-3-Clause
// Partitioned messages.
#include "bench/p2p/partitioned_calls.hpp"

#include <utility>

#include "bench/mpi/newer_calls.hpp"

namespace sluice::bench {
namespace {

using SendInit = int (*)(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
using RecvInit = int (*)(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);

}  // namespace

int partitions_of(std::uint64_t size_bytes, int wanted) {
  int n = wanted;
  while (n > 1 && (size_bytes < static_cast<std::uint64_t>(n) || size_bytes % static_cast<std::uint64_t>(n) != 0)) {
    --n;
  }
  return n;
}

PartitionedCalls::PartitionedCalls(Slots slots, const MessageType &type, const FamilyOptions &options)
    : StartedCalls(std::move(slots), type),
      ready_(require_mpi_function<Ready>("MPI_Pready")),
      n_partitions_(partitions_of(type.size_bytes(), options.n_partitions)) {
  const auto send_init = require_mpi_function<SendInit>("MPI_Psend_init");
  const auto recv_init = require_mpi_function<RecvInit>("MPI_Precv_init");
  const auto count = static_cast<MPI_Count>(type.size_bytes() / static_cast<std::uint64_t>(n_partitions_));
  for (std::size_t slot = 0; slot < n_sends(); ++slot) {
    const Lane &lane = slots_.traffic.send[slot];
    check_mpi(send_init(slots_.send[slot], n_partitions_, count, MPI_CHAR, lane.peer, lane.tag, MPI_COMM_WORLD,
                        MPI_INFO_NULL, &send_requests_[slot]),
              "MPI_Psend_init");
  }
  for (std::size_t slot = 0; slot < n_recvs(); ++slot) {
    const Lane &lane = slots_.traffic.recv[slot];
    check_mpi(recv_init(slots_.recv[slot], n_partitions_, count, MPI_CHAR, lane.peer, lane.tag, MPI_COMM_WORLD,
                        MPI_INFO_NULL, &recv_requests_[slot]),
              "MPI_Precv_init");
  }
}

}  // namespace sluice::bench
