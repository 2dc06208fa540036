// SPDX-License-Identifier: BSD-3-Clause
// What a rank brings to the agreement on collective operations (wire/collective_terms.hpp): by knobs and policies.
#pragma once

#include "plan/plan.hpp"
#include "wire/collective_terms.hpp"

namespace sluice::plan {

// `expected`: the shortest lengths of the devices that may be used; `loaded`: of those in use by now. Any thread.
[[nodiscard]] wire::CollectiveTerms collective_terms(const Policy &expected, const Policy &loaded);

}  // namespace sluice::plan
