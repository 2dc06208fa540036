// SPDX-License-Identifier: BSD-3-Clause
#include "plan/gather.hpp"

#include <fmt/format.h>

namespace sluice::plan {

std::string explain(const GatherQuery &query, const GatherPlan &plan) {
  const std::string runs = query.run_bytes != 0 ? fmt::format("runs of {}", query.run_bytes) : "irregular runs";
  const std::string extra =
      plan.extra_bytes != 0 ? fmt::format(", which bring {} more over the link", plan.extra_bytes) : "";
  return fmt::format("{} bytes in {}{} -> gathered by the {}: {}", query.size_bytes, runs, extra,
                     plan.by == Gatherer::kReceiver ? "receiver" : "sender", plan.reason);
}

}  // namespace sluice::plan
