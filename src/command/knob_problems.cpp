// SPDX-License-Identifier: BSD-3-Clause
#include "command/knob_problems.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/environment.hpp"
#include "base/knobs.hpp"
#include "plan/tuning.hpp"

namespace sluice::command {

std::vector<std::string> sluice_variables() {
  std::vector<std::string> variables;
  for (char **entry = environ; *entry != nullptr; ++entry) {
    std::string text = *entry;
    if (text.starts_with("SLUICE_") && !text.starts_with("SLUICE_BENCH_")) variables.push_back(std::move(text));
  }
  std::ranges::sort(variables);
  return variables;
}

std::vector<std::string> unknown_variables(const std::vector<device::Module> &modules) {
  std::vector<std::string> prefixes;
  prefixes.reserve(modules.size());
  for (const device::Module &module : modules) {
    std::string prefix = "SLUICE_" + module.name + "_";
    std::ranges::transform(prefix, prefix.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    prefixes.push_back(std::move(prefix));
  }
  return unknown_knobs(sluice_variables(), prefixes);
}

std::vector<std::string> wrong_values() {
  std::vector<Status> problems;
  static_cast<void>(Knobs::read(environment_variable, &problems));
  static_cast<void>(plan::read_wanted_tuning(&problems));
  std::vector<std::string> texts;
  texts.reserve(problems.size());
  for (const Status &problem : problems) texts.push_back(problem.message());
  return texts;
}

}  // namespace sluice::command
