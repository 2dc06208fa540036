// SPDX-License-Identifier: BSD-3-Clause
#include "command/library_search.hpp"

#include <glob.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <system_error>

#include "base/environment.hpp"

namespace sluice::command {
namespace {

namespace fs = std::filesystem;

// ld.so.conf files include others; a file that includes itself must not keep us.
constexpr int kMaxIncludes = 8;

std::vector<fs::path> split_path(const std::string &list) {
  std::vector<fs::path> folders;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ':');) {
    if (!word.empty()) folders.emplace_back(word);
  }
  return folders;
}

std::vector<fs::path> environment_path(const char *variable) {
  const char *list = environment_variable(variable);
  return list != nullptr ? split_path(list) : std::vector<fs::path>{};
}

std::vector<fs::path> files_matching(const std::string &pattern) {
  std::vector<fs::path> files;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  return files;
}

void read_loader_configuration(const fs::path &path, int depth, std::vector<fs::path> *folders) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    if (word != "include") {
      folders->emplace_back(word);
    } else if (words >> word && depth < kMaxIncludes) {
      for (const fs::path &included : files_matching(word)) read_loader_configuration(included, depth + 1, folders);
    }
  }
}

// RPATH or RUNPATH of `elf`, with its own folder in place of $ORIGIN.
std::vector<fs::path> expanded(const std::string &list, const ElfFile &elf) {
  std::error_code ignored;
  const std::string origin = fs::weakly_canonical(elf.path, ignored).parent_path().string();
  std::vector<fs::path> folders;
  for (const fs::path &folder : split_path(list)) {
    std::string text = folder.string();
    for (const char *name : {"${ORIGIN}", "$ORIGIN"}) {
      for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
        text.replace(at, std::char_traits<char>::length(name), origin);
      }
    }
    folders.emplace_back(text);
  }
  return folders;
}

std::optional<fs::path> first_with(const std::vector<fs::path> &folders, const std::string &name) {
  for (const fs::path &folder : folders) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / name, ignored)) return folder / name;
  }
  return std::nullopt;
}

const std::vector<fs::path> &system_folders() {
  static const std::vector<fs::path> folders = [] {
    std::vector<fs::path> read;
    read_loader_configuration("/etc/ld.so.conf", 0, &read);
    for (const char *folder :
         {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
      read.emplace_back(folder);
    }
    return read;
  }();
  return folders;
}

}  // namespace

std::vector<fs::path> loader_folders() {
  std::vector<fs::path> folders = environment_path("LD_LIBRARY_PATH");
  folders.insert(folders.end(), system_folders().begin(), system_folders().end());
  return folders;
}

std::optional<fs::path> find_library(const std::string &name, const ElfFile &from) {
  if (name.find('/') != std::string::npos) return first_with({fs::path(name).parent_path()}, fs::path(name).filename());
  std::vector<fs::path> folders;
  const auto add = [&folders](const std::vector<fs::path> &more) {
    folders.insert(folders.end(), more.begin(), more.end());
  };
  if (from.runpath.empty()) add(expanded(from.rpath, from));  // a RUNPATH makes the loader ignore the RPATH
  add(environment_path("LD_LIBRARY_PATH"));
  add(expanded(from.runpath, from));
  add(system_folders());
  return first_with(folders, name);
}

std::optional<fs::path> find_program(const std::string &word) {
  const auto is_program = [](const fs::path &path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
  };
  if (word.empty()) return std::nullopt;
  if (word.find('/') != std::string::npos) return is_program(word) ? std::optional<fs::path>(word) : std::nullopt;
  for (const fs::path &folder : environment_path("PATH")) {
    if (is_program(folder / word)) return folder / word;
  }
  return std::nullopt;
}

}  // namespace sluice::command
