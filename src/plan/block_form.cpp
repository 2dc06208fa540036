// SPDX-License-Identifier: BSD-3-Clause
#include "plan/block_form.hpp"

#include <fmt/format.h>

namespace sluice::plan {
namespace {

const char *name(BlockForm form) {
  switch (form) {
    case BlockForm::kRuns:
      return "as it lies";
    case BlockForm::kKernel:
      return "kernel";
    case BlockForm::kNeither:
      return "staged";
  }
  return "";
}

}  // namespace

std::string explain(const BlockQuery &query, const BlockPlan &plan) {
  return fmt::format("{} bytes in {}{} runs -> {}: {}", query.size_bytes, query.n_runs,
                     query.is_regular ? "" : " uneven", name(plan.form), plan.reason);
}

}  // namespace sluice::plan
