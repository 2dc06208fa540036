// SPDX-License-Identifier: BSD-3-Clause
// HeldTypes: types of ours in place of the program's, for a call that may come to the host MPI after the program has
// freed its own (as MPI allows while the call is under way).
#pragma once

#include <vector>

#include "base/status.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/datatype/held_type.hpp"

namespace sluice::ops::coll {

// Move only. The types live as long as this. One thread at a time.
class HeldTypes {
 public:
  // Replaces those types in the arguments of *call, one within one group, that mean something at this rank and are not
  // MPI's own. A reduction by an operation of MPI's has no others. Errors: the host MPI refuses.
  [[nodiscard]] Status replace(const Member &member, Call *call);

 private:
  [[nodiscard]] Status replace_in(Argument *argument, std::vector<MPI_Datatype> *of_blocks, std::size_t n_blocks);
  [[nodiscard]] Status replace_type(MPI_Datatype *type);

  std::vector<HeldType> made_;
  std::vector<MPI_Datatype> sent_;
  std::vector<MPI_Datatype> received_;
};

}  // namespace sluice::ops::coll
