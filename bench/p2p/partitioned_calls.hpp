// SPDX-License-Identifier: BSD-3-Clause
// Partitioned messages of MPI-4: MPI_Psend_init and MPI_Precv_init once, then MPI_Start and MPI_Pready for each
// partition.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "bench/p2p/calls.hpp"

namespace sluice::bench {

// The largest number up to `wanted` into which size_bytes can be divided evenly; 1 for an empty message.
int partitions_of(std::uint64_t size_bytes, int wanted);

class PartitionedCalls : public StartedCalls<PartitionedCalls> {
 public:
  static constexpr bool kHasDerivedTypes = false;

  // Throws MpiError, also when this MPI has no partitioned messages.
  PartitionedCalls(Slots slots, const MessageType &type, const FamilyOptions &options);

  void start_send(std::size_t slot) {
    check_mpi(MPI_Start(&send_requests_[slot]), "MPI_Start");
    for (int partition = 0; partition < n_partitions_; ++partition) {
      check_mpi(ready_(partition, send_requests_[slot]), "MPI_Pready");
    }
  }
  // MPI does not say what the count of a partitioned receive is.
  std::string verify_statuses() const { return ""; }

 private:
  using Ready = int (*)(int, MPI_Request);

  Ready ready_;
  int n_partitions_;
};

}  // namespace sluice::bench
