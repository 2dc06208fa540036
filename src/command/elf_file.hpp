// SPDX-License-Identifier: BSD-3-Clause
// What a program or library file says about the libraries it needs. Reads the file; never loads it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::command {

struct ElfFile {
  std::filesystem::path path;
  std::vector<std::string> needed;  // DT_NEEDED, in order
  std::string rpath;                // DT_RPATH, colon-separated, $ORIGIN not expanded; empty when there is none
  std::string runpath;              // DT_RUNPATH, likewise
  bool is_dynamic = false;          // has a dynamic section
  bool has_loader = false;          // names the program that loads it: a library can be preloaded into it
};

// Empty when the file cannot be read or is no 64-bit ELF file of this machine's byte order. Offsets in the file are not
// trusted: what lies outside of it is left out. Any thread.
[[nodiscard]] std::optional<ElfFile> read_elf(const std::filesystem::path &path);

}  // namespace sluice::command
