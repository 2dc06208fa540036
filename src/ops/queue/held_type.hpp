// SPDX-License-Identifier: BSD-3-Clause
// HeldType: a datatype of ours in place of the program's, which may be freed as soon as a message is enqueued.
#pragma once

#include "base/status.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::queue {

class HeldType {
 public:
  HeldType() noexcept = default;
  ~HeldType();
  HeldType(const HeldType &) = delete;
  HeldType &operator=(const HeldType &) = delete;
  HeldType(HeldType &&) = delete;
  HeldType &operator=(HeldType &&) = delete;

  // Puts a type that means the same in place of *type, a valid one, unless that is MPI's own. Once. Errors: the host
  // MPI refuses.
  [[nodiscard]] Status hold(MPI_Datatype *type);

 private:
  MPI_Datatype held_ = MPI_DATATYPE_NULL;
};

}  // namespace sluice::ops::queue
