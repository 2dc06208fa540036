// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with the devices.
#include <fmt/format.h>

#include <algorithm>

#include "bench/doctor/conclusions.hpp"
#include "bench/doctor/fact_queries.hpp"
#include "bench/doctor/rank_list.hpp"

namespace sluice::bench::doctor {
namespace {

using Conclusions = std::vector<Conclusion>;

// The backends that any rank was asked about.
std::vector<std::string> names_of(const std::vector<Json> &ranks) {
  std::vector<std::string> names;
  for (const Json &rank : ranks) {
    for (const Json &backend : rank.at("backends")) {
      const std::string name = backend.at("name");
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::string masks_of(const Json &backend) {
  std::string text;
  for (const Json &mask : backend.at("hidden_by")) text += (text.empty() ? "" : ", ") + mask.get<std::string>();
  return text;
}

// Whether variables hide devices that could be there: a machine without the vendor's runtime has none to hide.
bool is_hidden(const Json &backend) {
  return backend.at("devices").empty() && backend.at("is_installed").get<bool>() && !backend.at("hidden_by").empty();
}

void add_masks(const std::vector<Json> &ranks, const std::string &name, Conclusions *all) {
  for (const auto &[masks, whose] : folded(ranks, [&](const Json &rank) {
         const Json *backend = find_backend(rank, name);
         return backend != nullptr && is_hidden(*backend) ? masks_of(*backend) : std::string();
       })) {
    if (masks.empty()) continue;
    all->push_back({true, fmt::format("{}: {} hides all devices of the backend {}.", named_ranks(whose), masks, name),
                    "Unset the variable, or have it name a device."});
  }
}

void add_missing(const std::vector<Json> &ranks, const std::string &name, Conclusions *all) {
  for (const auto &[problem, whose] : folded(ranks, [&](const Json &rank) {
         const Json *backend = find_backend(rank, name);
         if (backend == nullptr) return fmt::format("there is no backend {}", name);
         if (!backend->at("devices").empty() || is_hidden(*backend)) return std::string();
         return backend->at("problem").get<std::string>();
       })) {
    if (problem.empty()) continue;
    // The loader names the file that it minds.
    const bool is_module = problem.find("libsluice_backend_") != std::string::npos;
    all->push_back({true, fmt::format("{}: no device of the backend {}: {}", named_ranks(whose), name, problem),
                    is_module ? "Install Sluice anew, or correct SLUICE_BACKEND_PATH."
                              : "Put the vendor's runtime into LD_LIBRARY_PATH, and see that the process may open the "
                                "device."});
  }
}

void add_untaken(const std::vector<Json> &ranks, const std::string &name, Conclusions *all) {
  const std::vector<int> whose = ranks_where(ranks, [&](const Json &rank) {
    return runs_sluice(rank) && has_devices(rank, name) && !find_backend(rank, name)->at("sluice_takes_it").get<bool>();
  });
  if (whose.empty()) return;
  const std::string allowed = ranks[static_cast<std::size_t>(whose.front())].at("allowed_backends");
  all->push_back({true,
                  fmt::format("{}: Sluice does not take device memory of the backend {} (SLUICE_BACKENDS is {}).",
                              named_ranks(whose), name, allowed),
                  fmt::format("Name the backend in SLUICE_BACKENDS, or unset the variable; SLUICE_LOG=debug says why "
                              "{} is not loaded.",
                              name)});
}

void add_far(const std::vector<Json> &ranks, const std::string &name, Conclusions *all) {
  const std::vector<int> whose = ranks_where(ranks, [&](const Json &rank) {
    const int device = rank.value("device", -1);
    const Json *backend = find_backend(rank, name);
    if (device < 0 || backend == nullptr) return false;
    const int of_device = backend->at("devices").at(static_cast<std::size_t>(device)).at("numa_node");
    const int of_rank = rank.at("numa_node");
    return of_device >= 0 && of_rank >= 0 && of_device != of_rank;
  });
  if (whose.empty()) return;
  all->push_back(
      {false,
       fmt::format("{}: the device hangs on another NUMA node than the one the rank runs on.", named_ranks(whose)),
       "Put ranks near their devices: sluice run --bind closest (docs/placement.md)."});
}

}  // namespace

std::vector<Conclusion> conclusions_of_devices(const std::vector<Json> &ranks, const std::string &backend) {
  Conclusions all;
  const std::vector<std::string> names = names_of(ranks);
  for (const std::string &name : names) add_masks(ranks, name, &all);
  if (names.empty()) {
    all.push_back({true, "There is no backend to ask for devices.",
                   "See the name behind --backend, and SLUICE_BACKEND_PATH; `sluice info` lists the backends."});
    return all;
  }
  if (backend.empty()) {
    for (const std::string &name : names) add_missing(ranks, name, &all);
    return all;
  }
  add_missing(ranks, backend, &all);
  add_untaken(ranks, backend, &all);
  add_far(ranks, backend, &all);
  // Who names such a backend means it.
  if (names.size() > 1 && is_on_host(ranks, backend)) {
    all.push_back(
        {true,
         fmt::format("No device seems to be a GPU: those of {} are cores of the host, or have no PCI address. "
                     "Above stands why the other backends have none.",
                     backend),
         fmt::format("Put the GPU's runtime into LD_LIBRARY_PATH. Where these devices are meant: --backend {}.",
                     backend)});
  }
  return all;
}

}  // namespace sluice::bench::doctor
