// SPDX-License-Identifier: BSD-3-Clause
// Questions to the host MPI about a handle, asked so that no error handler hears of them: whether it may be used in a
// message, and in a reduction.
#pragma once

#include <cstdint>

#include "wire/mpi.hpp"

namespace sluice::ops {

enum class ProbeAnswer : std::uint8_t {
  kAccepted,
  kRejected,
  kUnknown  // there is no communicator to ask on: sessions only, or MPI is being finalized
};

// Whether a message may be of that type. Any thread; the first call makes the communicator.
[[nodiscard]] ProbeAnswer probe_type(MPI_Datatype type);

// The same of a reduction by `op`, both predefined. Host MPIs take more pairs than MPI defines, and not the same ones.
// Setup cost: a call of the host MPI; the caller keeps the answer. Any thread, one after the other.
[[nodiscard]] ProbeAnswer probe_reduction(MPI_Datatype type, MPI_Op op);

// Frees the communicator, before MPI_Finalize and with no other thread in a probe. Later probes say kUnknown.
void release_probe() noexcept;

}  // namespace sluice::ops
