// SPDX-License-Identifier: BSD-3-Clause
// Questions to the facts of ranks.
#include "bench/doctor/fact_queries.hpp"

#include <algorithm>

namespace sluice::bench::doctor {

const Json *find_backend(const Json &rank, const std::string &name) {
  for (const Json &backend : rank.at("backends")) {
    if (backend.at("name") == name) return &backend;
  }
  return nullptr;
}

bool has_devices(const Json &rank, const std::string &backend) {
  const Json *found = find_backend(rank, backend);
  return found != nullptr && !found->at("devices").empty();
}

bool runs_sluice(const Json &rank) {
  return rank.at("sluice").at("is_there").get<bool>() && rank.at("sluice").at("is_enabled").get<bool>();
}

bool is_on_host(const std::vector<Json> &ranks, const std::string &backend) {
  return std::ranges::all_of(ranks, [&](const Json &rank) {
    return !has_devices(rank, backend) || find_backend(rank, backend)->at("is_on_host").get<bool>();
  });
}

std::string choose_backend(const std::vector<Json> &ranks, const std::string &only) {
  if (ranks.empty()) return "";
  std::string of_cores;
  for (const Json &backend : ranks.front().at("backends")) {
    const std::string name = backend.at("name");
    const bool has_any = std::ranges::any_of(ranks, [&](const Json &rank) { return has_devices(rank, name); });
    if (!has_any || (!only.empty() && name != only)) continue;
    if (!is_on_host(ranks, name)) return name;
    if (of_cores.empty()) of_cores = name;
  }
  return of_cores;
}

}  // namespace sluice::bench::doctor
