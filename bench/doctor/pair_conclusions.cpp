// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with the ways between ranks.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "bench/doctor/conclusions.hpp"
#include "bench/doctor/fact_queries.hpp"
#include "bench/doctor/rank_list.hpp"

namespace sluice::bench::doctor {
namespace {

using Conclusions = std::vector<Conclusion>;

// The pairs with a side for which `is_meant` holds: "0-1, 0-2", of many the first ones.
std::string pairs_where(const std::vector<Json> &pairs, const std::function<bool(const Json &)> &is_meant) {
  constexpr int kMostNamed = 6;
  std::string text;
  int n_meant = 0;
  for (const Json &pair : pairs) {
    bool is_one = false;
    for (const Json &side : pair.at("sides")) is_one = is_one || is_meant(side);
    if (!is_one || ++n_meant > kMostNamed) continue;
    text += fmt::format("{}{} and {}", text.empty() ? "" : ", ", pair.at("ranks")[0].get<int>(),
                        pair.at("ranks")[1].get<int>());
  }
  if (n_meant > kMostNamed) text += fmt::format(" and {} more pairs", n_meant - kMostNamed);
  return text;
}

bool goes_by_host(const Json &side) {
  const std::string route = side.at("long_route");
  return route.find("staged") != std::string::npos || route.find("pipelined") != std::string::npos ||
         route.find("host") != std::string::npos;
}

bool has_refusal(const Json &side) {
  return !side.at("fallbacks").empty();
}

std::string refusals_of(const std::vector<Json> &pairs, const char *member) {
  std::set<std::string> texts;
  for (const Json &pair : pairs) {
    for (const Json &side : pair.at("sides")) {
      for (const Json &text : side.at(member)) texts.insert(text.get<std::string>());
    }
  }
  std::string joined;
  for (const std::string &text : texts) joined += (joined.empty() ? "" : "; ") + text;
  return joined;
}

// Sluice says once in a process why it was refused something, so the reason may be another pair's.
void add_refusals(const Findings &findings, Conclusions *all) {
  const std::string whose = pairs_where(findings.pairs, has_refusal);
  if (whose.empty()) return;
  const std::string why = refusals_of(findings.pairs, "warnings");
  std::string remedy = "docs/statistics.md says what each refusal means.";
  const Json &scope = findings.ranks.front().at("limits").at("ptrace_scope");
  if (scope.is_number() && scope.get<int>() > 0) {
    remedy += fmt::format(
        " A process may not take another one's memory here (ptrace_scope is {}): if the backend needs "
        "that, sysctl kernel.yama.ptrace_scope=0 allows it.",
        scope.get<int>());
  }
  all->push_back({true,
                  fmt::format("Between ranks {}: a faster way was refused ({}). {}", whose,
                              refusals_of(findings.pairs, "fallbacks"), why),
                  remedy});
}

// Between nodes the memory of the host is the way.
std::vector<Json> inside_nodes(const std::vector<Json> &pairs) {
  std::vector<Json> inside;
  for (const Json &pair : pairs) {
    if (!pair.value("between_nodes", false)) inside.push_back(pair);
  }
  return inside;
}

void add_host_ways(const Findings &findings, Conclusions *all) {
  const std::string whose = pairs_where(inside_nodes(findings.pairs),
                                        [](const Json &side) { return goes_by_host(side) && !has_refusal(side); });
  if (whose.empty()) return;
  const bool can_be_exported = std::ranges::all_of(findings.ranks, [](const Json &rank) {
    return rank.value("device", -1) < 0 || rank.value("can_be_exported", true);
  });
  std::string knobs;
  for (const Json &knob : findings.ranks.front().at("knobs")) {
    const std::string text = knob;
    if (text.starts_with("SLUICE_P2P") || text.starts_with("SLUICE_TUNING")) knobs += " " + text;
  }
  if (!can_be_exported) {
    all->push_back(
        {false,
         fmt::format("Between ranks {}: messages go through the memory of the host, because no other process "
                     "can reach memory of such a device.",
                     whose),
         "Nothing can be done about it."});
    return;
  }
  all->push_back({true,
                  fmt::format("Between ranks {}: messages of 4 MiB go through the memory of the host, and nothing was "
                              "refused.{}{}",
                              whose, knobs.empty() ? "" : " Set are:", knobs),
                  knobs.empty() ? "`sluice info --route 4M` says why." : "Unset these variables."});
}

}  // namespace

std::vector<Conclusion> conclusions_of_pairs(const Findings &findings) {
  Conclusions all;
  const auto is_spoilt = [](const Json &side) { return !side.at("is_right").get<bool>(); };
  if (const std::string whose = pairs_where(findings.pairs, is_spoilt); !whose.empty()) {
    all.push_back({true, fmt::format("Between ranks {}: the bytes that came are not those that were sent.", whose),
                   "Report it with this output. Until then: SLUICE_P2P_IPC=off."});
  }
  add_refusals(findings, &all);
  add_host_ways(findings, &all);
  for (const auto &[problem, whose] :
       folded(findings.ranks, [](const Json &rank) { return rank.value("pair_problem", std::string()); })) {
    if (problem.empty()) continue;
    all.push_back({true, fmt::format("{}: no device memory: {}", named_ranks(whose), problem),
                   "Free memory of the device, or name another backend with --backend."});
  }
  return all;
}

}  // namespace sluice::bench::doctor
