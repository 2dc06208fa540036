// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/statistics.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice::tests {

namespace {

// What sluice_statistics_json says; null without it.
nlohmann::json read_statistics() {
  using ToJson = std::size_t (*)(char *, std::size_t);
  const auto to_json = reinterpret_cast<ToJson>(dlsym(RTLD_DEFAULT, "sluice_statistics_json"));
  if (to_json == nullptr) return nullptr;
  std::string text(std::size_t{64} << 10U, '\0');
  std::size_t length = to_json(text.data(), text.size());
  while (length >= text.size()) {  // other threads may have counted since
    text.resize(length + 4096);
    length = to_json(text.data(), text.size());
  }
  text.resize(length);
  return nlohmann::json::parse(text);
}

}  // namespace

long long calls_by(std::string_view operation, std::string_view route) {
  const nlohmann::json read = read_statistics();
  if (read.is_null()) return -1;
  long long calls = 0;
  for (const auto &row : read.at("rows")) {
    if (row.at("operation") == operation && row.at("route") == route) calls += row.at("calls").get<long long>();
  }
  return calls;
}

long long fallbacks(std::string_view reason) {
  const nlohmann::json read = read_statistics();
  return read.is_null() ? -1 : read.at("fallbacks").value(std::string(reason), 0LL);
}

bool count_statistics() {
  const auto count = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "sluice_statistics_count"));
  if (count == nullptr) return false;
  static_cast<void>(count(1));
  return true;
}

long long staging_bytes() {
  const nlohmann::json read = read_statistics();
  return read.is_null() ? -1 : read.at("staging").at("bytes").get<long long>();
}

long long pack_launches() {
  const nlohmann::json read = read_statistics();
  return read.is_null() ? -1 : read.at("packing").at("launches").get<long long>();
}

}  // namespace sluice::tests
