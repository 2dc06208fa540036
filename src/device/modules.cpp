// SPDX-License-Identifier: BSD-3-Clause
#include "device/modules.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/environment.hpp"
#include "base/knobs.hpp"
#include "base/own_program.hpp"
#include "base/system_reason.hpp"

namespace sluice::device {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "libsluice_backend_";

// The paths that match; an unreadable folder has none.
std::vector<std::string> files_of(const std::string &pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// The folders in which the dynamic linker looks for a library, as far as an ordinary process can tell.
std::vector<fs::path> library_folders() {
  std::vector<fs::path> folders = {
      "/lib64", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/local/lib"};
  const char *path = environment_variable("LD_LIBRARY_PATH");
  std::istringstream words(path != nullptr ? path : "");
  for (std::string folder; std::getline(words, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  for (const std::string &list : files_of("/etc/ld.so.conf.d/*.conf")) {
    std::ifstream file(list);
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with('/')) folders.emplace_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
    }
  }
  return folders;
}

Status read_priority(Module *module, std::istream *words, const std::string &line, const fs::path &path) {
  if (*words >> module->priority) return {};
  return Status::error(ErrorKind::kBackend, path.string() + ": \"" + line +
                                                "\" is not \"priority <number>\", so the backend is not used; "
                                                "reinstall it");
}

Status read_needs(Module *module, const fs::path &path) {
  errno = 0;
  std::ifstream file(path);
  if (!file) {
    return Status::error(ErrorKind::kBackend,
                         fmt::format("{}: the backend cannot be used, for this file cannot be read: {}", path.string(),
                                     system_reason(errno, "reinstall it")));
  }
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "priority") {
      if (Status status = read_priority(module, &words, line, path); !status.is_ok()) return status;
      continue;
    }
    std::vector<std::string> rest;
    for (std::string word; words >> word;) rest.push_back(word);
    const auto take = [&rest](std::vector<std::string> *list) { list->insert(list->end(), rest.begin(), rest.end()); };
    if (first == "device") {
      take(&module->devices);
    } else if (first == "support") {
      take(&module->support_words);
    } else if (first == "kind") {
      take(&module->memory_kinds);
    } else if (first == "mask") {
      if (!rest.empty()) module->masks.push_back({rest.front(), {rest.begin() + 1, rest.end()}});
    } else if (!first.empty()) {
      module->runtimes.push_back(first);
    }
  }
  return {};
}

// Lists of devices end at the first that means nothing, so the first says whether there is any.
bool hides_all(const Mask &mask) {
  const char *text = environment_variable(mask.variable.c_str());
  if (text == nullptr) return false;
  std::string_view first = text;
  first = first.substr(0, first.find(','));
  const std::size_t begin = std::min(first.find_first_not_of(' '), first.size());
  first = first.substr(begin, first.find_last_not_of(' ') + 1 - begin);
  return first.empty() || first.starts_with('-') || std::ranges::count(mask.values_for_none, first) != 0;
}

}  // namespace

fs::path own_library_folder() {
  const fs::path here = own_program().parent_path();
  std::error_code ignored;
  const fs::path installed = (here / SLUICE_LIBDIR_FROM_BINDIR).lexically_normal();
  return fs::is_directory(installed / "sluice", ignored) ? installed : here.parent_path() / "lib";
}

std::string module_folder() {
  const std::string &knob = Knobs::process().text("SLUICE_BACKEND_PATH");
  if (!knob.empty()) return knob;
  Dl_info here{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void *>(&module_folder), &here) != 0 && here.dli_fname != nullptr) {
    const fs::path beside = fs::absolute(here.dli_fname, error).parent_path() / "sluice";
    if (fs::is_directory(beside, error)) return beside.string();
  }
  return (own_library_folder() / "sluice").string();
}

std::vector<Module> find_modules(const std::string &folder, std::vector<Status> *problems) {
  std::vector<Module> modules;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(kPrefix) || entry.path().extension() != ".so") continue;
    Module module;
    module.name = file.substr(kPrefix.size(), file.size() - kPrefix.size() - 3);
    module.path = entry.path().string();
    const Status status = read_needs(&module, fs::path(entry.path()).replace_extension(".needs"));
    if (status.is_ok()) {
      modules.push_back(std::move(module));
    } else {
      problems->push_back(status);
    }
  }
  if (error) {
    problems->push_back(
        Status::error(ErrorKind::kBackend, fmt::format("no backends: the folder {} cannot be read: {}", folder,
                                                       system_reason(error.value(), "set SLUICE_BACKEND_PATH"))));
  }
  std::sort(modules.begin(), modules.end(), [](const Module &a, const Module &b) {
    return a.priority != b.priority ? a.priority < b.priority : a.name < b.name;
  });
  return modules;
}

bool is_installed(const Module &module) {
  for (const fs::path &folder : library_folders()) {
    std::error_code error;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (std::any_of(module.runtimes.begin(), module.runtimes.end(),
                      [&](const std::string &runtime) { return name.starts_with(runtime); })) {
        return true;
      }
    }
  }
  return false;
}

std::vector<std::string> hiding_masks(const Module &module) {
  std::vector<std::string> variables;
  for (const Mask &mask : module.masks) {
    if (hides_all(mask)) variables.push_back(mask.variable);
  }
  return variables;
}

bool has_device_files(const Module &module) {
  if (std::ranges::any_of(module.masks, hides_all)) return false;
  const auto is_there = [](const std::string &pattern) {
    return std::ranges::any_of(files_of(pattern),
                               [](const std::string &path) { return access(path.c_str(), R_OK | W_OK) == 0; });
  };
  return module.devices.empty() || std::ranges::any_of(module.devices, is_there);
}

}  // namespace sluice::device
