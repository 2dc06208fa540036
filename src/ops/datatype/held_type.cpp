// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/held_type.hpp"

#include "ops/datatype/layout_of.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {

// One element of it: a duplicate would copy the program's attributes.
Status HeldType::hold(MPI_Datatype *type) {
  transfer::LayoutPtr layout;
  if (named_layout(*type, &layout)) return {};
  MPI_Datatype held = MPI_DATATYPE_NULL;
  int code = wire::host().MPI_Type_contiguous(1, *type, &held);
  if (code != MPI_SUCCESS) return wire::host_failure(code, "keep a datatype for an operation under way");
  held_ = wire::OwnedDatatype(held);
  code = wire::host().MPI_Type_commit(&held);
  if (code != MPI_SUCCESS) return wire::host_failure(code, "commit a datatype for an operation under way");
  *type = held;
  return {};
}

}  // namespace sluice::ops
