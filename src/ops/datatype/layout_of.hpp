// SPDX-License-Identifier: BSD-3-Clause
// From an MPI datatype to the bytes that it stands for.
#pragma once

#include "base/status.hpp"
#include "transfer/layout.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops {

// The layout of one of MPI's named types; false for derived and invalid types, which are not touched. Hot: a look-up in
// a table that is filled at the first call. After the initialisation of MPI. Any thread.
[[nodiscard]] bool named_layout(MPI_Datatype type, transfer::LayoutPtr *layout);

// The layout of any valid datatype. A derived type is decoded once and keeps the result in an attribute, which goes
// with the type. Warm: an attribute look-up. Errors: memory, or a type of more blocks than can be listed.
[[nodiscard]] Status layout_of(MPI_Datatype type, transfer::LayoutPtr *layout);

// Whether the host MPI accepts `type` in a message (valid and committed), asked without disturbing the program's error
// handlers: of a private communicator that returns its errors. True when that cannot be asked.
[[nodiscard]] bool is_valid(MPI_Datatype type);

// Frees the attribute key and the private communicator. Before the host MPI ends.
void release_datatypes() noexcept;

}  // namespace sluice::ops
