// SPDX-License-Identifier: BSD-3-Clause
// The environment of this process: the one place that asks for a variable. SLUICE_* variables are knobs (knobs.hpp);
// this is for theirs and for those of launchers and other libraries.
#pragma once

#include <cstdlib>

namespace sluice {

// The text of a variable, or null when it is not set. The text is the environment's and stays until the variable is set
// again: copy it. Any thread, as long as no thread sets variables meanwhile, which holds for getenv everywhere.
inline const char *environment_variable(const char *name) noexcept {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): said above
}

}  // namespace sluice
