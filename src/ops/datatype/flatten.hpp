// SPDX-License-Identifier: BSD-3-Clause
// flatten(): decodes a derived datatype into its blocks, through the host MPI's envelope and contents.
#pragma once

#include "base/status.hpp"
#include "transfer/layout.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// Decodes `type`, which is valid. Setup cost: time and memory grow with the number of separate blocks.
[[nodiscard]] Status flatten(MPI_Datatype type, transfer::Layout *layout);

}  // namespace sluice::ops
