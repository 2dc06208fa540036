// SPDX-License-Identifier: BSD-3-Clause
// HeldType: a datatype of ours in place of the program's, for what comes to the host MPI after the program may have
// freed its own, as MPI allows while an operation is under way.
#pragma once

#include "base/status.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops {

// Owns one datatype, which lives as long as this. Move only. One thread at a time.
class HeldType {
 public:
  // Puts a type that means the same in place of *type, a valid one, unless that is MPI's own. Once. Errors: the host
  // MPI refuses; *type is then as it was.
  [[nodiscard]] Status hold(MPI_Datatype *type);

 private:
  wire::OwnedDatatype held_;
};

}  // namespace sluice::ops
