// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/held_type.hpp"

#include <utility>

#include "base/log.hpp"
#include "ops/datatype/layout_of.hpp"
#include "wire/host.hpp"
#include "wire/host_failure.hpp"

namespace sluice::ops {

HeldType::HeldType(HeldType &&other) noexcept : held_(std::exchange(other.held_, MPI_DATATYPE_NULL)) {}

HeldType::~HeldType() {
  if (held_ == MPI_DATATYPE_NULL) return;
  if (wire::host().MPI_Type_free(&held_) != MPI_SUCCESS) log::debug("ops", "a datatype could not be freed");
}

// One element of it: a duplicate would copy the program's attributes.
Status HeldType::hold(MPI_Datatype *type) {
  transfer::LayoutPtr layout;
  if (named_layout(*type, &layout)) return {};
  MPI_Datatype held = MPI_DATATYPE_NULL;
  int code = wire::host().MPI_Type_contiguous(1, *type, &held);
  if (code != MPI_SUCCESS) return wire::host_failure(code, "keep a datatype for an operation under way");
  held_ = held;
  code = wire::host().MPI_Type_commit(&held_);
  if (code != MPI_SUCCESS) return wire::host_failure(code, "commit a datatype for an operation under way");
  *type = held_;
  return {};
}

}  // namespace sluice::ops
