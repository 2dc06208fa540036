// SPDX-License-Identifier: BSD-3-Clause
// Which predefined operations the host MPI takes on which predefined types, and which of those pairs Sluice leaves to
// it, as data/staged_reductions.txt says.
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::tests {

struct NamedType {
  const char *name;
  MPI_Datatype type;
};

struct NamedOp {
  const char *name;
  MPI_Op op;
};

// Every predefined type of which the host MPI's header knows a name, and every predefined operation.
const std::vector<NamedType> &all_types_by_name();
const std::vector<NamedOp> &all_operations();

// Whether the host MPI takes that pair in a reduction. Asked so that an error ends nothing.
bool is_accepted(MPI_Datatype type, MPI_Op op);

// Whether data/staged_reductions.txt has the pair for this host MPI. `type` is the type's name; of those that MPI makes
// for Fortran, which have none, the name of the function that does.
bool is_listed_as_staged(std::string_view type, std::string_view op);

// The name of a type under which it may be listed.
std::string listed_name_of(MPI_Datatype type);

}  // namespace sluice::tests
