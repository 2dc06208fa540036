// SPDX-License-Identifier: BSD-3-Clause
// What the tests of partitioned communication exchange.
#pragma once

#include <mpi.h>

#include <thread>
#include <vector>

#include "tests/support/oracle.hpp"

namespace sluice::tests {

inline constexpr int kPartitionTag = 61;
inline constexpr int kPartitions = 4;

// How one side cuts its buffer.
struct Cut {
  int n_partitions;
  MPI_Count count;  // elements of one partition
  MPI_Datatype type = MPI_BYTE;
};

inline Cut bytes(std::size_t partition_bytes, int n_partitions = kPartitions) {
  return {n_partitions, static_cast<MPI_Count>(partition_bytes)};
}

// A receive and a send of partitions from and to the partner: requests[0] and requests[1].
struct Exchange {
  Trial *run;
  const Memory *in;
  const Memory *out;
  std::vector<MPI_Request> requests;
};

inline Exchange init(Trial &run, const Memory &in, const Cut &sent, const Memory &out, const Cut &received) {
  const Session &session = Session::get();
  Exchange exchange{&run, &in, &out, {MPI_REQUEST_NULL, MPI_REQUEST_NULL}};
  run.call("MPI_Precv_init",
           MPI_Precv_init(out.data(), received.n_partitions, received.count, received.type, session.partner(),
                          kPartitionTag, session.comm(), MPI_INFO_NULL, &exchange.requests[0]));
  run.call("MPI_Psend_init", MPI_Psend_init(in.data(), sent.n_partitions, sent.count, sent.type, session.partner(),
                                            kPartitionTag, session.comm(), MPI_INFO_NULL, &exchange.requests[1]));
  return exchange;
}

inline void free_requests(Exchange &exchange) {
  for (MPI_Request &request : exchange.requests) {
    exchange.run->call("MPI_Request_free", MPI_Request_free(&request));
    exchange.run->note("request is null", request == MPI_REQUEST_NULL ? 1 : 0);
  }
}

// Asks until the answer is yes.
inline int ask_for(MPI_Request receive, int partition) {
  int has_arrived = 0;
  int code = MPI_Parrived(receive, partition, &has_arrived);
  while (has_arrived == 0 && code == MPI_SUCCESS) {
    std::this_thread::yield();
    code = MPI_Parrived(receive, partition, &has_arrived);
  }
  return code;
}

}  // namespace sluice::tests
