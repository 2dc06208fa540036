// SPDX-License-Identifier: BSD-3-Clause
// Which route the messages really took.
#include "bench/mpi/route_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "bench/memory/device_module.hpp"
#include "bench/mpi/newer_calls.hpp"

namespace sluice::bench {
namespace {

constexpr const char *kHandedOn = "host";

std::size_t (*find_statistics())(char *, std::size_t) {
  return find_function<std::size_t (*)(char *, std::size_t)>("sluice_statistics_json");
}

// The words of docs/statistics.md.
const char *statistics_name(sluice_memory_kind_t kind) {
  switch (kind) {
    case SLUICE_MEMORY_PINNED:
      return "pinned";
    case SLUICE_MEMORY_DEVICE:
      return "device";
    case SLUICE_MEMORY_SHARED:
      return "shared";
    default:
      return "host";
  }
}

}  // namespace

nlohmann::json library_statistics() {
  const auto statistics = find_statistics();
  if (statistics == nullptr) return nullptr;
  std::string text(statistics(nullptr, 0) + 1, '\0');
  text.resize(std::min(statistics(text.data(), text.size()), text.size() - 1));
  return nlohmann::json::parse(text, nullptr, false);
}

RouteWatch::RouteWatch(sluice_memory_kind_t send, sluice_memory_kind_t recv)
    : memory_(send), recv_memory_(recv == SLUICE_MEMORY_HOST ? send : recv) {
  if (memory_ == SLUICE_MEMORY_HOST) memory_ = recv_memory_;
  const auto is_enabled = find_function<int (*)()>("sluice_is_enabled");
  if (is_enabled != nullptr && is_enabled() != 0 && find_statistics() != nullptr) {
    count_ = find_function<int (*)(int)>("sluice_statistics_count");
  }
}

RouteUses RouteWatch::read() const {
  const nlohmann::json document = library_statistics();
  if (document.is_discarded() || !document.contains("rows")) {
    throw DeviceError("the statistics of the library below cannot be read: rebuild both from one tree");
  }
  RouteUses uses;
  for (const nlohmann::json &row : document.at("rows")) {
    const std::string buffer = row.value("buffer", "");
    if (buffer == statistics_name(memory_) || buffer == statistics_name(recv_memory_)) {
      RouteUse &use = uses[row.value("route", "")];
      use.n_calls += row.value("calls", std::uint64_t{0});
      use.n_bytes += row.value("bytes", std::uint64_t{0});
    }
  }
  return uses;
}

void RouteWatch::begin() {
  before_ = read();
  was_counting_ = count_(1);
}

RouteUses RouteWatch::end() {
  count_(was_counting_);
  RouteUses since;
  for (const auto &[route, use] : read()) {
    const RouteUse before = before_[route];
    if (use.n_calls > before.n_calls) {
      since[route] = {use.n_calls - before.n_calls, use.n_bytes - before.n_bytes};
    }
  }
  if (memory_ == SLUICE_MEMORY_HOST && since.size() > 1) {
    since.erase(kHandedOn);
  }
  return since;
}

std::string describe(const RouteUses &uses) {
  std::vector<std::pair<std::uint64_t, std::string>> by_use;
  for (const auto &[route, use] : uses) {
    by_use.emplace_back(use.n_calls, route);
  }
  std::sort(by_use.rbegin(), by_use.rend());
  std::string text;
  for (const auto &[n_calls, route] : by_use) {
    text += (text.empty() ? "" : "+") + route;
  }
  return text;
}

}  // namespace sluice::bench
