// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_get_info and MPI_Session_get_info; of windows: ops/rma/attributes.cpp.
#include "ops/env/memory_kinds.hpp"

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "device/memory_names.hpp"
#include "generated/operations.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

constexpr const char *kProvided = "mpi_memory_alloc_kinds";
constexpr const char *kAsserted = "mpi_assert_memory_alloc_kinds";

}  // namespace

std::optional<std::string> value_of(MPI_Info info, const char *key) {
  int length = 0;
  int is_there = 0;
  // With the calls that every host MPI has.
  if (info == MPI_INFO_NULL || wire::host().MPI_Info_get_valuelen(info, key, &length, &is_there) != MPI_SUCCESS ||
      is_there == 0) {
    return {};
  }
  std::string value(static_cast<std::size_t>(length) + 1, '\0');
  if (wire::host().MPI_Info_get(info, key, length, value.data(), &is_there) != MPI_SUCCESS || is_there == 0) return {};
  value.resize(value.find('\0'));
  return value;
}

void add_memory_kinds(MPI_Info info) noexcept {
  try {
    const std::vector<std::string> kinds = device::memory_kinds();
    if (kinds.empty()) return;
    const std::string value = device::with_memory_kinds(value_of(info, kProvided).value_or(""), kinds,
                                                        value_of(info, kAsserted), MPI_MAX_INFO_VAL - 1);
    if (wire::host().MPI_Info_set(info, kProvided, value.c_str()) != MPI_SUCCESS) {
      log::warn_once(kProvided, "ops",
                     "the host MPI did not take a value of mpi_memory_alloc_kinds; ask with MPIX_Query_*_support");
    }
  } catch (const std::exception &error) {
    log::warn_once(kProvided, "ops", std::string("mpi_memory_alloc_kinds lacks Sluice's kinds: ") + error.what());
  }
}

int session_get_info(MPI_Session session, MPI_Info *info_used) {
  const int result = wire::host().MPI_Session_get_info(session, info_used);
  if (result == MPI_SUCCESS) add_memory_kinds(*info_used);
  return result;
}

}  // namespace sluice::ops
