// SPDX-License-Identifier: BSD-3-Clause
#include "ops/env/host_library.hpp"

#include "wire/host.hpp"

namespace sluice::ops {

bool is_host_library(std::string_view version_begins) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  return wire::host().MPI_Get_library_version(text, &length) == MPI_SUCCESS &&
         std::string_view(text).starts_with(version_begins);
}

// Intel MPI takes each of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END of the MPI-5 interface for another one, and ends
// the job in a call on a file whose datatype is a duplicate of one that is not predefined.
bool trusts_files() {
#ifdef MPI_ABI_VERSION
  static const bool may_distrust = is_host_library("Intel(R) MPI");
  return !may_distrust;
#else
  return true;
#endif
}

}  // namespace sluice::ops
