// SPDX-License-Identifier: BSD-3-Clause
// The question to the host MPI whether a handle may be used in a message, asked so that no error handler hears of it.
#pragma once

#include <cstdint>

#include "wire/mpi.hpp"

namespace sluice::ops {

enum class ProbeAnswer : std::uint8_t {
  kAccepted,
  kRejected,
  kUnknown  // there is no communicator to ask on: sessions only, or MPI is being finalized
};

// Any thread; the first call makes the communicator.
[[nodiscard]] ProbeAnswer probe_type(MPI_Datatype type);

// Frees the communicator, before MPI_Finalize and with no other thread in probe_type. Later probes say kUnknown.
void release_probe() noexcept;

}  // namespace sluice::ops
