// SPDX-License-Identifier: BSD-3-Clause
#include "plan/reduction_means.hpp"

#include <fmt/format.h>

namespace sluice::plan {

std::string explain(const ReductionMeansQuery &query, const ReductionMeansPlan &plan) {
  return fmt::format("{} inputs of {} bytes -> {}: {}", query.n_inputs, query.input_bytes,
                     plan.means == ReductionMeans::kEngines ? "engines" : "kernel", plan.reason);
}

}  // namespace sluice::plan
