// SPDX-License-Identifier: BSD-3-Clause
#include "ops/queue/held_type.hpp"

#include "base/log.hpp"
#include "ops/datatype/layout_of.hpp"
#include "wire/host.hpp"

namespace sluice::ops::queue {

HeldType::~HeldType() {
  if (held_ == MPI_DATATYPE_NULL) return;
  if (wire::host().MPI_Type_free(&held_) != MPI_SUCCESS) log::debug("ops", "a datatype could not be freed");
}

// One element of it: a duplicate would copy the program's attributes.
Status HeldType::hold(MPI_Datatype *type) {
  transfer::LayoutPtr layout;
  if (named_layout(*type, &layout)) return {};
  MPI_Datatype held = MPI_DATATYPE_NULL;
  if (wire::host().MPI_Type_contiguous(1, *type, &held) != MPI_SUCCESS) {
    return Status::error(ErrorKind::kBackend, "the host MPI could not keep a datatype for a message of a queue");
  }
  held_ = held;
  if (wire::host().MPI_Type_commit(&held_) != MPI_SUCCESS) {
    return Status::error(ErrorKind::kBackend, "the host MPI could not commit a datatype for a message of a queue");
  }
  *type = held_;
  return {};
}

}  // namespace sluice::ops::queue
