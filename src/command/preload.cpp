// SPDX-License-Identifier: BSD-3-Clause
#include "command/preload.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <ranges>
#include <string_view>

#include "command/elf_file.hpp"
#include "command/library_search.hpp"

namespace sluice::command {
namespace {

// GCC's by their names, and all of LLVM's: libclang_rt.asan.so, libclang_rt.tsan-x86_64.so, ...
bool is_sanitizer_runtime(std::string_view library) {
  constexpr std::array<std::string_view, 6> kBegins = {"libasan.so", "libhwasan.so", "liblsan.so",
                                                       "libtsan.so", "libubsan.so",  "libclang_rt."};
  const std::string_view leaf = library.substr(library.rfind('/') + 1);
  return std::ranges::any_of(kBegins, [leaf](std::string_view begin) { return leaf.starts_with(begin); });
}

}  // namespace

std::string preloaded(const std::string &library, const std::string &existing) {
  constexpr const char *kBetween = ": ";  // the loader splits at both
  std::size_t behind = 0;                 // the runtimes
  while (behind < existing.size()) {
    const std::size_t end = std::min(existing.find_first_of(kBetween, behind), existing.size());
    const std::string word = existing.substr(behind, end - behind);
    if (word == library) return existing;
    if (!word.empty() && !is_sanitizer_runtime(word)) break;
    behind = std::min(end + 1, existing.size());
  }
  std::string list = existing.substr(0, behind);
  if (!list.empty() && list.find_last_of(kBetween) != list.size() - 1) list += ':';
  list += library;
  return behind == existing.size() ? list : list + ":" + existing.substr(behind);
}

void extend_own_preloads(const std::string &library, std::vector<std::string> *command) {
  const std::string assignment = std::string(kPreload) + "=";
  for (std::size_t i = 0; i < command->size(); ++i) {
    std::string &word = (*command)[i];
    if (word.starts_with(assignment)) {
      word.replace(assignment.size(), std::string::npos, preloaded(library, word.substr(assignment.size())));
    } else if (i > 0 && i + 1 < command->size() && word == kPreload &&
               ((*command)[i - 1] == "-env" || (*command)[i - 1] == "-genv")) {
      (*command)[i + 1] = preloaded(library, (*command)[i + 1]);
    }
  }
}

std::vector<std::string> sanitizer_runtimes(const std::filesystem::path &program) {
  std::vector<std::string> runtimes;
  const std::optional<ElfFile> elf = read_elf(program);
  if (elf) std::ranges::copy_if(elf->needed, std::back_inserter(runtimes), is_sanitizer_runtime);
  return runtimes;
}

void put_runtimes_first(const std::vector<std::size_t> &positions, std::vector<std::string> *command) {
  for (const std::size_t position : std::ranges::reverse_view(positions)) {
    const std::optional<std::filesystem::path> program = find_program((*command)[position]);
    if (!program) continue;
    std::string list;
    for (const std::string &runtime : sanitizer_runtimes(*program)) list += runtime + ":";
    if (list.empty()) continue;
    const std::vector<std::string> words = {
        "sh", "-c", std::string(kPreload) + "=\"" + list + "$" + kPreload + R"(" exec "$0" "$@")"};
    command->insert(command->begin() + static_cast<std::ptrdiff_t>(position), words.begin(), words.end());
  }
}

}  // namespace sluice::command
