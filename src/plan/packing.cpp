// SPDX-License-Identifier: BSD-3-Clause
#include "plan/packing.hpp"

#include <fmt/format.h>

namespace sluice::plan {

std::string explain(const PackQuery &query, const PackPlan &plan) {
  const RunSummary &runs = query.runs;
  const std::string lengths = runs.shortest_bytes == runs.longest_bytes
                                  ? fmt::format("{}", runs.longest_bytes)
                                  : fmt::format("{} to {}", runs.shortest_bytes, runs.longest_bytes);
  std::string times;
  for (std::size_t i = 0; i < kPackMeansNames.size(); ++i) {
    if (plan.times_us.at(i) == kCannot) continue;
    times += fmt::format("{}{} {:.1f} us", times.empty() ? "" : ", ", kPackMeansNames.at(i), plan.times_us.at(i));
  }
  return fmt::format("{} {} bytes in {} runs of {}, {} -> {}: {} ({})", name(query.kind), runs.size_bytes, runs.n_runs,
                     lengths, kPackLegNames.at(static_cast<std::size_t>(query.leg)), name(plan.means), plan.reason,
                     times);
}

}  // namespace sluice::plan
