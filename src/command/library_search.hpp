// SPDX-License-Identifier: BSD-3-Clause
// Finds a shared library as the dynamic loader would, without loading anything. All of it: any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "command/elf_file.hpp"

namespace sluice::command {

// The folders that the loader looks through for every program: LD_LIBRARY_PATH, those that /etc/ld.so.conf names, and
// its built-in ones. The variable is read anew at each call, the file once.
[[nodiscard]] std::vector<std::filesystem::path> loader_folders();

// The file that `name`, needed by `from`, would be loaded from: RPATH, LD_LIBRARY_PATH, RUNPATH, then the folders for
// every program. Names with a slash are taken as paths. Empty when there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_library(const std::string &name, const ElfFile &from);

// The executable file that a shell would start for `word`: a path when it has a slash, else the first on PATH.
[[nodiscard]] std::optional<std::filesystem::path> find_program(const std::string &word);

}  // namespace sluice::command
