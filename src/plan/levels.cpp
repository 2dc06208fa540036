// SPDX-License-Identifier: BSD-3-Clause
#include "plan/levels.hpp"

#include <fmt/format.h>

namespace sluice::plan {
namespace {

const char *name(Levels levels) {
  switch (levels) {
    case Levels::kFlat:
      return "flat";
    case Levels::kLeaders:
      return "leaders";
    case Levels::kLanes:
      return "lanes";
  }
  return "";
}

}  // namespace

std::string explain(int n_ranks, const LevelQuery &query, const LevelPlan &plan) {
  return fmt::format("{} ranks on {} nodes, {} bytes -> {}: {}", n_ranks, query.n_nodes, query.size_bytes,
                     name(plan.levels), plan.reason);
}

}  // namespace sluice::plan
