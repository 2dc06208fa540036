// SPDX-License-Identifier: BSD-3-Clause
// Functions that only newer MPIs have.
#include "bench/mpi/newer_calls.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>

#include "bench/mpi/world.hpp"

namespace sluice::bench {

void *find_mpi_function(const std::string &name) {
  return ::dlsym(RTLD_DEFAULT, name.c_str());
}

void throw_missing(const std::string &name) {
  int major = 0;
  int minor = 0;
  check_mpi(MPI_Get_version(&major, &minor), "MPI_Get_version");
  throw MpiError(fmt::format("this MPI (standard {}.{}) has no {}", major, minor, name));
}

}  // namespace sluice::bench
