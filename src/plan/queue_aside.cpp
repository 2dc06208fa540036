// SPDX-License-Identifier: BSD-3-Clause
#include "plan/queue_aside.hpp"

#include <fmt/format.h>

namespace sluice::plan {
namespace {

const char *sentence(QueueAsideReason reason) {
  switch (reason) {
    case QueueAsideReason::kAsked:
      return "SLUICE_QUEUE_ASIDE asks for it";
    case QueueAsideReason::kSwitchedOff:
      return "SLUICE_QUEUE_ASIDE keeps them there";
    case QueueAsideReason::kNoSide:
      return "this stream has no side";
    case QueueAsideReason::kUnjoined:
      return "the stream does not wait yet for what went aside before";
    case QueueAsideReason::kUnknown:
      return "nobody knows yet whether the program has work there";
    case QueueAsideReason::kWork:
      return "the program has work there, which they would hold up";
    case QueueAsideReason::kNoWork:
      return "the program has no work there";
  }
  return "";
}

}  // namespace

std::string explain(const QueueAsideQuery &query, const QueueAsidePlan &plan) {
  const std::string between =
      query.between_ns ? fmt::format("{} ns from start to wait", *query.between_ns) : "no wait before";
  return fmt::format("queue sends, {}, {} -> {}: {}", name(query.wanted), between,
                     plan.is_aside ? "aside" : "in the stream", sentence(plan.reason));
}

std::string explain_receives(const QueueAsidePlan &plan) {
  return fmt::format("queue receives -> {}: {}", plan.is_aside ? "aside" : "at the wait", sentence(plan.reason));
}

}  // namespace sluice::plan
