// SPDX-License-Identifier: BSD-3-Clause
// What an MPI datatype looks like in memory, and whether a handle is one.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "transfer/layout.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// The layout of a predefined type; false, and `layout` untouched, for any other handle, valid or not. The layout lives
// as long as the process and copying it counts no references. Between MPI_Init and MPI_Finalize, any thread. Hot; the
// first call asks the host MPI which of the types it has.
[[nodiscard]] bool named_layout(MPI_Datatype type, transfer::LayoutPtr *layout);

// The layout of `type`, which the caller knows to be valid and committed (is_valid). The first call finds the layout;
// it hangs on the datatype as an attribute until the type is freed, and duplicates of the type get it too. Between
// MPI_Init and MPI_Finalize, any thread. Warm; the first call for a type costs time and memory in proportion to its
// separate blocks. Errors: the type has more blocks than Sluice can hold (BlockList), the host MPI refuses to describe
// it, no memory; `layout` is then untouched.
[[nodiscard]] Status layout_of(MPI_Datatype type, transfer::LayoutPtr *layout);

// The offset in bytes of the lowest byte that `type`, valid and committed, names; what decides where a buffer lies. 0
// for a type of no bytes. Any thread. Warm, as layout_of; a type that cannot be taken apart gets the host MPI's true
// lower bound, which may lie below the first byte.
[[nodiscard]] std::int64_t first_byte_of(MPI_Datatype type);

// Whether the host MPI takes `type` in a message: it exists and is committed. (A handle whose type was freed is no
// better known to the host MPIs than to Sluice.) Raises no error anywhere: the host MPI is asked by a send to
// MPI_PROC_NULL, on a communicator of Sluice's own that returns its errors. Without the world model (sessions only)
// there is nothing to make that communicator of, and the answer is true; then the host MPI's own error for a bad handle
// comes from MPI_Type_get_envelope instead. Any thread. Warm.
[[nodiscard]] bool is_valid(MPI_Datatype type);

// The layout of a handle that the program gave. *layout is null, and that is no error, where the handle is not valid.
// Threads, errors: as layout_of(). Hot for a predefined type, else warm.
[[nodiscard]] inline Status layout_if_valid(MPI_Datatype type, transfer::LayoutPtr *layout) {
  if (named_layout(type, layout)) return {};
  layout->reset();
  return is_valid(type) ? layout_of(type, layout) : Status();
}

// Gives back the attribute key and the communicator. Call before MPI_Finalize, when no other thread is in here.
void release_datatypes() noexcept;

}  // namespace sluice::ops
