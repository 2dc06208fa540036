// SPDX-License-Identifier: BSD-3-Clause
// Where the file of the running program lies.
#pragma once

#include <sys/auxv.h>

#include <filesystem>
#include <system_error>

namespace sluice {

// Without links; from what the kernel was told to start, which needs no /proc. Empty when it cannot be found. A
// relative name is one in the folder that was the current one then, so this is asked before the program leaves it.
// Any thread.
[[nodiscard]] inline std::filesystem::path own_program() {
  std::error_code ignored;
  const auto *started = reinterpret_cast<const char *>(getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr)
  return started != nullptr ? std::filesystem::canonical(started, ignored) : std::filesystem::path();
}

}  // namespace sluice
