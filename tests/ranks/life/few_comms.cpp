// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking collective calls on more communicators than Sluice has others beside, or where one of these cannot be
// made:
//   few_comms --backend NAME N
// On N duplicates, all of which stay, the data must be right, and no error handler may be called. Looked at are some of
// the first ones, and the last.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/ranks/life/rank_buffer.hpp"

namespace {

using sluice::tests::BackendModule;
using sluice::tests::RankBuffer;

int n_errors = 0;

void count_error(MPI_Comm * /*comm*/, int * /*code*/, ...) {
  ++n_errors;
}

constexpr int kLength = 3001;

std::vector<int> pattern(int rank, int round) {
  std::vector<int> numbers(kLength);
  for (int i = 0; i < kLength; ++i) numbers[static_cast<std::size_t>(i)] = rank * 7 + round * 31 + i;
  return numbers;
}

bool is_right(MPI_Comm comm, const BackendModule &module, int rank, int size, int round) {
  const int root = round % size;
  RankBuffer<int> moved(&module, kLength);
  RankBuffer<int> sums(&module, kLength);
  moved.put(pattern(rank, round));
  sums.put(pattern(rank, round));
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Ibcast(moved.data(), kLength, MPI_INT, root, comm, &requests[0]);
  MPI_Iallreduce(MPI_IN_PLACE, sums.data(), kLength, MPI_INT, MPI_SUM, comm, &requests[1]);
  int number = rank;
  MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, comm);  // of the program's own, between
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  std::vector<int> summed(kLength, 0);
  for (int other = 0; other < size; ++other) {
    const std::vector<int> part = pattern(other, round);
    for (std::size_t i = 0; i < part.size(); ++i) summed[i] += part[i];
  }
  return moved.get() == pattern(root, round) && sums.get() == summed && number == size * (size - 1) / 2;
}

}  // namespace

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
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  int n_wrong = 0;
  const int n_comms = std::atoi(argv[3]);
  std::vector<MPI_Comm> comms(static_cast<std::size_t>(n_comms), MPI_COMM_NULL);
  for (int i = 0; i < n_comms; ++i) {
    MPI_Comm &comm = comms[static_cast<std::size_t>(i)];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    constexpr int kLast = 20;
    constexpr int kBetween = 40;
    const bool is_looked_at = i % kBetween == 0 || i >= n_comms - kLast;
    if (is_looked_at && !is_right(comm, *module, rank, size, i)) ++n_wrong;
  }
  for (MPI_Comm &comm : comms) MPI_Comm_free(&comm);
  std::printf("rank %d: %d of %d are wrong, %d errors\n", rank, n_wrong, n_comms, n_errors);
  std::fflush(stdout);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return n_wrong == 0 && n_errors == 0 ? 0 : 1;
}
