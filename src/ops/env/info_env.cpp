// SPDX-License-Identifier: BSD-3-Clause
// MPI_INFO_ENV, which nobody may write to: who reads it is shown a copy that has the memory kinds too. All other infos
// go to the host MPI as they are.
#include "generated/operations.hpp"
#include "ops/env/memory_kinds.hpp"
#include "ops/env/world.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops {
namespace {

// `read` on what the program is to see in place of `info`; its result is an MPI error code.
template <typename Read>
int on_visible(MPI_Info info, Read read) {
  wire::OwnedInfo copy;
  if (info != MPI_INFO_ENV || !is_world_alive() || wire::host().MPI_Info_dup(info, copy.slot()) != MPI_SUCCESS) {
    return read(info);
  }
  add_memory_kinds(copy.get());
  return read(copy.get());
}

}  // namespace

int info_dup(MPI_Info info, MPI_Info *newinfo) {
  return on_visible(info, [&](MPI_Info visible) { return wire::host().MPI_Info_dup(visible, newinfo); });
}

int info_get(MPI_Info info, const char *key, int valuelen, char *value, int *flag) {
  return on_visible(info,
                    [&](MPI_Info visible) { return wire::host().MPI_Info_get(visible, key, valuelen, value, flag); });
}

int info_get_nkeys(MPI_Info info, int *nkeys) {
  return on_visible(info, [&](MPI_Info visible) { return wire::host().MPI_Info_get_nkeys(visible, nkeys); });
}

int info_get_nthkey(MPI_Info info, int n, char *key) {
  return on_visible(info, [&](MPI_Info visible) { return wire::host().MPI_Info_get_nthkey(visible, n, key); });
}

int info_get_string(MPI_Info info, const char *key, int *buflen, char *value, int *flag) {
  return on_visible(
      info, [&](MPI_Info visible) { return wire::host().MPI_Info_get_string(visible, key, buflen, value, flag); });
}

int info_get_valuelen(MPI_Info info, const char *key, int *valuelen, int *flag) {
  return on_visible(info,
                    [&](MPI_Info visible) { return wire::host().MPI_Info_get_valuelen(visible, key, valuelen, flag); });
}

}  // namespace sluice::ops
