// SPDX-License-Identifier: BSD-3-Clause
// The environment of the unit tests: none of the developer's own knobs.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

// NOLINTNEXTLINE(readability-redundant-declaration): POSIX declares it in no header
extern char **environ;

namespace sluice::tests {

// Unsets every SLUICE_* variable. Before the first use of the knobs, on the only thread.
inline void clear_knobs() {
  std::vector<std::string> names;
  for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string line = *entry;
    if (line.starts_with("SLUICE_")) names.push_back(line.substr(0, line.find('=')));
  }
  for (const std::string &name : names) unsetenv(name.c_str());
}

}  // namespace sluice::tests
