// SPDX-License-Identifier: BSD-3-Clause
// What a system call's error means to a user. All of it: any thread.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice {

// What to do about an error: `remedy`, but for those that have another cause than the call.
[[nodiscard]] inline std::string_view system_remedy(int code, std::string_view remedy) {
  if (code == EMFILE) return "raise this process's limit of open files (ulimit -n)";
  if (code == ENFILE) return "raise the machine's limit of open files (fs.file-max)";
  if (code == ENOMEM) return "the machine is out of memory";
  return remedy;
}

// The error's text, and that.
[[nodiscard]] inline std::string system_reason(int code, std::string_view remedy) {
  return std::string(std::strerror(code)).append("; ").append(system_remedy(code, remedy));
}

}  // namespace sluice
