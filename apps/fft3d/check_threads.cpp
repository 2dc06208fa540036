// SPDX-License-Identifier: BSD-3-Clause
// Asks the ranks of a host which cores they may run on.
#include "apps/fft3d/check_threads.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "apps/fft3d/host_threads.hpp"

namespace sluice::apps::fft3d {
namespace {

// For each core, 1 where this process may run there; one core where that cannot be asked.
std::vector<int> own_cores(const bench::World &world) {
  std::vector<int> is_own(CPU_SETSIZE);
  cpu_set_t own;
  CPU_ZERO(&own);
  if (::sched_getaffinity(0, sizeof own, &own) != 0) {
    fmt::print(stderr, "rank {} does not know its cores and checks in one thread: {}; give --check-threads\n",
               world.rank(), std::strerror(errno));  // NOLINT(concurrency-mt-unsafe): no other thread yet
    return is_own;
  }
  for (int core = 0; core < CPU_SETSIZE; ++core) is_own[static_cast<std::size_t>(core)] = CPU_ISSET(core, &own) ? 1 : 0;
  return is_own;
}

}  // namespace

unsigned fair_threads(const bench::World &world) {
  const std::vector<int> is_own = own_cores(world);
  std::vector<int> n_sharing(is_own.size());
  MPI_Comm host = MPI_COMM_NULL;
  bench::check_mpi(MPI_Comm_split_type(world.communicator(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
                   "MPI_Comm_split_type");
  bench::check_mpi(
      MPI_Allreduce(is_own.data(), n_sharing.data(), static_cast<int>(is_own.size()), MPI_INT, MPI_SUM, host),
      "MPI_Allreduce");
  bench::check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  return fair_threads(is_own, n_sharing);
}

}  // namespace sluice::apps::fft3d
