// SPDX-License-Identifier: BSD-3-Clause
// Functions that only newer MPIs have.
#include "bench/mpi/newer_calls.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include "bench/mpi/world.hpp"

namespace sluice::bench {

void throw_missing(const std::string &name) {
  int major = 0;
  int minor = 0;
  check_mpi(MPI_Get_version(&major, &minor), "MPI_Get_version");
  throw MpiError(fmt::format("this MPI (standard {}.{}) has no {}", major, minor, name));
}

}  // namespace sluice::bench
