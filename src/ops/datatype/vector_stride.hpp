// SPDX-License-Identifier: BSD-3-Clause
// The stride of a vector, as the host MPI takes it.
#pragma once

#include "base/status.hpp"
#include "ops/datatype/assemble.hpp"
#include "ops/datatype/type_contents.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// Open MPI 4.1 and 5.0 take a stride of -1 byte for no stride at all, and put the blocks of such a vector one behind
// the other (ADR 0050). Where `contents`, which made `type` of `part`, are a vector of that stride, asks the host MPI
// how far its blocks lie apart and makes of `contents` a vector of that distance; any other constructor is left as it
// is, at the cost of a comparison. Any thread. Errors: the host MPI refuses to tell the type's bounds.
[[nodiscard]] Status take_stride_of_host(MPI_Datatype type, const Part &part, TypeContents *contents);

}  // namespace sluice::ops
