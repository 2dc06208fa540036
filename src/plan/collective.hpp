// SPDX-License-Identifier: BSD-3-Clause
// The choice for one buffer of a collective operation. Pure, as plan.hpp.
#pragma once

#include <cstdint>

#include "plan/plan.hpp"

namespace sluice::plan {

// One buffer at this rank, which stages for itself: that goes with whatever the others do. What the ranks do together
// is chosen in joint.hpp.
struct CollectiveQuery {
  MemoryKind kind = MemoryKind::kHost;
  std::uint64_t size_bytes = 0;  // of payload, all blocks together
  std::uint64_t span_bytes = 0;  // from the lowest byte of all blocks to the highest; 0: too far apart to say
  bool keeps_type = false;       // the host MPI computes with it by the program's own type and operation, or cuts it by
                                 // the type's extent, which has to be the same on all ranks then
};

// An image keeps the program's counts, types and displacements, which is what the host MPI's algorithms are chosen by
// and what a user-defined operation is called with. Where most of it would be gaps the payload is packed, unless the
// type has to stay.
[[nodiscard]] constexpr Form collective_form_of(const CollectiveQuery &query) noexcept {
  if (query.keeps_type) return Form::kImage;
  return query.span_bytes != 0 && query.span_bytes / 2 <= query.size_bytes ? Form::kImage : Form::kPacked;
}

// The choice. Hot.
[[nodiscard]] constexpr Plan choose_collective(const CollectiveQuery &query, const Policy &policy) noexcept {
  Plan plan = choose({query.kind, query.size_bytes}, policy);
  if (plan.route == Route::kStaged) plan.form = collective_form_of(query);
  return plan;
}

}  // namespace sluice::plan
