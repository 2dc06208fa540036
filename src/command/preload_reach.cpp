// SPDX-License-Identifier: BSD-3-Clause
#include "command/preload_reach.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>

#include "command/elf_file.hpp"

namespace sluice::command {

std::string why_preload_is_dropped(const std::filesystem::path &program, const User &user) {
  struct stat about{};
  if (stat(program.c_str(), &about) != 0) return "";  // whoever starts it says so
  if ((about.st_mode & S_ISUID) != 0 && about.st_uid != user.user) return "is set-user-ID";
  if ((about.st_mode & S_ISGID) != 0 && (about.st_mode & S_IXGRP) != 0 && about.st_gid != user.group) {
    return "is set-group-ID";
  }
  // Nothing is new to root by them.
  if (user.user != 0 && getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
    return "has file capabilities";
  return "";
}

bool is_static(const std::filesystem::path &program) {
  const std::optional<ElfFile> elf = read_elf(program);
  return elf && !elf->has_loader;
}

}  // namespace sluice::command
