// SPDX-License-Identifier: BSD-3-Clause
// What SLUICE_TUNING gives a setting, for suites that go by how they are started.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::tests {

// The value of the last word name=value; none: it has no such word.
inline std::optional<std::string> given_setting(std::string_view name) {
  const char *const all = std::getenv("SLUICE_TUNING");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  std::string_view rest = all != nullptr ? all : "";
  std::optional<std::string> value;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : word.size());
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos && word.substr(0, equals) == name) value = word.substr(equals + 1);
  }
  return value;
}

}  // namespace sluice::tests
