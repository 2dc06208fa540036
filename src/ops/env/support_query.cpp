// SPDX-License-Identifier: BSD-3-Clause
#include "ops/env/support_query.hpp"

#include <string>

#include "base/switch.hpp"
#include "device/memory_names.hpp"
#include "ops/env/errors.hpp"
#include "ops/env/world.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

using Query = int (*)();
using QueryByNumber = int (*)(int, int *);

// The host MPI's own function of that name; null when it has none, or when asking it now would end the program. MPICH's
// do so outside of MPI's life, Open MPI's answer at any time. When Sluice is switched off the program has the host MPI
// as it is.
void *host_query_of(const char *function) {
#if !defined(OPEN_MPI)
  if (is_enabled() && !is_world_alive()) return nullptr;
#endif
  return wire::extension(function);
}

// Outside of MPI's life there is no error handler that could be called.
int refuse(const std::string &text) {
  const Status status = Status::error(ErrorKind::kInvalidArgument, text);
  if (is_world_alive()) return raise(MPI_COMM_SELF, status);
  set_last_error(status);
  return MPI_ERR_ARG;
}

}  // namespace

int query_support(const char *word, const char *function) noexcept {
  return guarded(MPI_COMM_SELF, [&]() -> int {
    if (is_enabled() && device::is_supported(word)) return 1;
    const auto host_query = reinterpret_cast<Query>(host_query_of(function));
    return host_query != nullptr ? host_query() : 0;
  });
}

int query_support_by_number(int number, const char *word, int *is_supported, const char *function) noexcept {
  return guarded(MPI_COMM_SELF, [&]() -> int {
    if (is_enabled() && word != nullptr && is_supported != nullptr && device::is_supported(word)) {
      *is_supported = 1;
      return MPI_SUCCESS;
    }
    const auto host_query = reinterpret_cast<QueryByNumber>(host_query_of(function));
    if (host_query != nullptr) return host_query(number, is_supported);
    if (is_supported == nullptr) return refuse("MPIX_GPU_query_support: null pointer; give the address of an int");
    if (word == nullptr) {
      return refuse("MPIX_GPU_query_support: " + std::to_string(number) +
                    " is no MPIX_GPU_SUPPORT_* number; take one from MPICH's mpi.h");
    }
    *is_supported = 0;
    return MPI_SUCCESS;
  });
}

}  // namespace sluice::ops
