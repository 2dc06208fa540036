// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/statistics.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice::tests {

long long calls_by(std::string_view operation, std::string_view route) {
  using ToJson = std::size_t (*)(char *, std::size_t);
  const auto to_json = reinterpret_cast<ToJson>(dlsym(RTLD_DEFAULT, "sluice_statistics_json"));
  if (to_json == nullptr) return -1;
  std::string text(to_json(nullptr, 0) + 4096, '\0');
  text.resize(to_json(text.data(), text.size()));
  long long calls = 0;
  const nlohmann::json read = nlohmann::json::parse(text);
  for (const auto &row : read.at("rows")) {
    if (row.at("operation") == operation && row.at("route") == route) calls += row.at("calls").get<long long>();
  }
  return calls;
}

}  // namespace sluice::tests
