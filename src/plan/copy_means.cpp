// SPDX-License-Identifier: BSD-3-Clause
#include "plan/copy_means.hpp"

#include <fmt/format.h>

namespace sluice::plan {

std::string explain(const CopyListQuery &query, const CopyPlan &plan) {
  return fmt::format("{} copies of {} bytes -> {}: {}", query.n_copies, query.size_bytes,
                     plan.means == CopyMeans::kKernel ? "kernel" : "engines", plan.reason);
}

std::string explain(const OwnBlockQuery &query, const CopyPlan &plan) {
  return fmt::format("own blocks of {} bytes beside {} of others -> {}: {}", query.own_bytes, query.others_bytes,
                     plan.means == CopyMeans::kKernel ? "kernel" : "engines", plan.reason);
}

}  // namespace sluice::plan
