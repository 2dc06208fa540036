// SPDX-License-Identifier: BSD-3-Clause
// Modules: the files of the backends, and what their .needs files say of them without one being opened: which libraries
// are the runtime, and how one finds out whether this process could use a device. All of it: any thread.
//
// A .needs file has a word on each line, a runtime's library, or one of these:
//   priority N               smaller is asked first
//   device PATTERN           files, as the shell writes them; a process that can use a device may read and write one
//   mask VARIABLE [VALUE..]  of the environment; the devices that it leaves are named by it, and by those values none
//   is support WORD..           what programs may ask of its memory, as support_words of the module's table will say
//   kind WORD..              the same of memory_kind_words
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace sluice::device {

struct Mask {
  std::string variable;
  std::vector<std::string> values_for_none;  // besides an empty one and negative numbers
};

// A module file that was found, loaded or not.
struct Module {
  std::string name;                   // from the file name: libsluice_backend_<name>.so
  std::string path;                   // of the module
  int priority = 100;                 // smaller is asked first
  std::vector<std::string> runtimes;  // file-name beginnings of the libraries that mean "in use"
  std::vector<std::string> devices;   // patterns; none: there is no file to look for
  std::vector<Mask> masks;
  std::vector<std::string> support_words;
  std::vector<std::string> memory_kinds;
  std::optional<bool> is_found;  // what is_installed() said; none: nobody has asked
};

// The modules of a folder, by priority. Problems (no folder, an unreadable .needs file) are added to `problems`.
[[nodiscard]] std::vector<Module> find_modules(const std::string &folder, std::vector<Status> *problems);

// The libraries of the installation, or of the build tree, that the running program belongs to: the folder that an
// installation was built for, as seen from the program's own, if it holds modules; else ../lib.
[[nodiscard]] std::filesystem::path own_library_folder();

// The folder that holds the modules: SLUICE_BACKEND_PATH, or sluice/ beside the file that holds this code, or
// sluice/ in own_library_folder().
[[nodiscard]] std::string module_folder();

// A library that the module's runtime consists of lies where the dynamic linker would find it. Milliseconds.
[[nodiscard]] bool is_installed(const Module &module);

// A device is there for this process, as far as that is seen from outside: nothing is loaded or started, no device is
// opened. A mask that names a device which is not there is not seen. Microseconds.
[[nodiscard]] bool has_device_files(const Module &module);

// The variables among the module's masks by which the environment hides all of its devices. Microseconds.
[[nodiscard]] std::vector<std::string> hiding_masks(const Module &module);

}  // namespace sluice::device
