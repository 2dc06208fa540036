// SPDX-License-Identifier: BSD-3-Clause
// What keeps a preloaded library out of a program, as far as its file shows. All of it: any thread.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace sluice::command {

struct User {
  uid_t user = geteuid();
  gid_t group = getegid();
};

// Why the loader drops LD_PRELOAD from the environment when `user` starts `program`, which also keeps it from what that
// starts: set-user-ID, set-group-ID, file capabilities. Empty when it does not.
[[nodiscard]] std::string why_preload_is_dropped(const std::filesystem::path &program, const User &user = {});

// Nothing is preloaded into the program, which has no loader; what it starts is another matter. False for scripts.
[[nodiscard]] bool is_static(const std::filesystem::path &program);

}  // namespace sluice::command
