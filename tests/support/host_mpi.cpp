// SPDX-License-Identifier: BSD-3-Clause
// Faults of host MPIs, recognised by the library's own version text.
#include "tests/support/host_mpi.hpp"

#include <mpi.h>

#include <string_view>

namespace sluice::tests {
namespace {

bool version_starts_with(std::string_view start) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  return std::string_view(text).starts_with(start);
}

}  // namespace

bool loses_data_in_restarted_bsend() { return version_starts_with("Open MPI v4."); }

bool aborts_on_truncation() { return version_starts_with("Intel(R) MPI"); }

}  // namespace sluice::tests
