// SPDX-License-Identifier: BSD-3-Clause
// MPI handles as keys of tables.
#pragma once

#include <cstdint>
#include <cstring>

#include "wire/mpi.hpp"

namespace sluice::ops {

// A handle is an int in one binary interface and a pointer in the others. Pure.
[[nodiscard]] inline std::uintptr_t key_of(MPI_Datatype type) noexcept {
  static_assert(sizeof(type) <= sizeof(std::uintptr_t));
  std::uintptr_t key = 0;
  std::memcpy(&key, &type, sizeof(type));
  return key;
}

}  // namespace sluice::ops
