// SPDX-License-Identifier: BSD-3-Clause
// A job that hangs until it is killed, for `sluice doctor --job`:
//   hangs --backend NAME recv | wait | freed | allreduce
// Rank 0 waits on device memory. Rank 1 never answers: it stands still outside of MPI.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/ranks/life/rank_buffer.hpp"

using sluice::tests::BackendModule;
using sluice::tests::RankBuffer;

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  std::string reason;
  const BackendModule *module = BackendModule::open(argv[2], reason);
  if (module == nullptr) {
    std::printf("skipped: %s\n", reason.c_str());
    return 77;
  }
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string how = argv[3];
  constexpr int kLength = 1024;
  RankBuffer<int> buffer(module, kLength);
  buffer.put(std::vector<int>(kLength, rank));
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  if (rank != 0) {
    if (how == "freed") MPI_Comm_free(&other);
    while (true) pause();
  }
  if (how == "recv") MPI_Recv(buffer.data(), kLength, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (how == "wait") {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(buffer.data(), kLength, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (how == "freed") {  // the communicator, which the request outlives
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(buffer.data(), kLength, MPI_INT, 1, 7, other, &request);
    MPI_Comm_free(&other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (how == "allreduce") MPI_Allreduce(MPI_IN_PLACE, buffer.data(), kLength, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
