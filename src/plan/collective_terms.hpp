// SPDX-License-Identifier: BSD-3-Clause
// What a rank brings to the agreement on collective operations (base/collective_terms.hpp): by knobs and policies.
#pragma once

#include "base/collective_terms.hpp"
#include "plan/plan.hpp"

namespace sluice::plan {

// `expected`: the shortest lengths of the devices that may be used; `loaded`: of those in use by now. Any thread.
[[nodiscard]] CollectiveTerms collective_terms(const Policy &expected, const Policy &loaded);

}  // namespace sluice::plan
