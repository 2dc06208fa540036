// SPDX-License-Identifier: BSD-3-Clause
#include "command/doctor_preload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "command/preload.hpp"

namespace sluice::command {
namespace {

std::vector<std::string> words_of(const std::string &list) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin < list.size()) {
    const std::size_t end = std::min(list.find_first_of(": ", begin), list.size());
    if (end > begin) words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Of "/opt/sluice/lib/libsluice_mpich.so": mpich.
std::optional<Flavour> flavour_in(std::string_view file) {
  constexpr std::string_view kBegin = "libsluice_";
  constexpr std::string_view kEnd = ".so";
  file.remove_prefix(file.rfind('/') + 1);
  if (!file.starts_with(kBegin) || !file.ends_with(kEnd)) return std::nullopt;
  file.remove_prefix(kBegin.size());
  file.remove_suffix(kEnd.size());
  return flavour_named(file);
}

}  // namespace

std::optional<Flavour> preloaded_flavour(const std::string &list) {
  for (const std::string &word : words_of(list)) {
    if (const std::optional<Flavour> flavour = flavour_in(word)) return flavour;
  }
  return std::nullopt;
}

DoctorPreload plan_doctor_preload(const std::string &existing, Flavour flavour, const Installation &installation,
                                  const std::filesystem::path &program, bool adds) {
  DoctorPreload plan;
  std::vector<std::string> kept;
  for (const std::string &word : words_of(existing)) {
    const std::optional<Flavour> of_word = flavour_in(word);
    if (of_word && *of_word != flavour) {
      plan.problem = fmt::format("LD_PRELOAD names {}, which is for {}, and this MPI has {}", word, title(*of_word),
                                 title(flavour));
      continue;
    }
    if (of_word) plan.library = word;
    kept.push_back(word);
  }
  plan.list = fmt::format("{}", fmt::join(kept, ":"));
  const auto installed = installation.libraries.find(flavour);
  if (!plan.library.empty()) {
    plan.by = "you";
  } else if (adds && installed != installation.libraries.end()) {
    plan.by = "doctor";
    plan.library = installed->second.string();
    std::string first;
    for (const std::string &runtime : sanitizer_runtimes(program)) first += runtime + ":";
    plan.list = preloaded(plan.library, first + plan.list);
  } else {
    plan.by = "nobody";
    if (plan.problem.empty()) {
      plan.problem =
          adds ? fmt::format("libsluice_{}.so is not in {}", name(flavour), installation.library_folder.string())
               : "LD_PRELOAD does not name it, and --no-preload leaves LD_PRELOAD as it is";
    }
  }
  return plan;
}

}  // namespace sluice::command
