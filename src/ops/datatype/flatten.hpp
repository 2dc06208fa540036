// SPDX-License-Identifier: BSD-3-Clause
// Taking a datatype apart into the blocks of bytes that it names.
#pragma once

#include "base/status.hpp"
#include "transfer/layout.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// Describes `type`, valid and committed, by the constructors that made it. Any thread; blocks for no one. Errors: as
// layout_of, and no memory as std::bad_alloc; `layout` is then untouched.
[[nodiscard]] Status flatten(MPI_Datatype type, transfer::Layout *layout);

}  // namespace sluice::ops
