// SPDX-License-Identifier: BSD-3-Clause
// The program under a name of OSU's.
#include "bench/cli/osu_name.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::bench {
namespace {

constexpr std::string_view kPrefix = "osu_";
constexpr std::array<std::string_view, 4> kDeviceWords{"D", "M", "MD", "MH"};

bool is_device_choice(const std::string &word) {
  constexpr std::string_view kLong = "--accelerator";
  return word.starts_with("-d") || word.starts_with(kLong);
}

}  // namespace

std::vector<std::string> arguments_of(const std::vector<std::string> &command) {
  if (command.empty()) {
    return {};
  }
  std::vector<std::string> arguments(command.begin() + 1, command.end());
  const std::string name = command.front().substr(command.front().rfind('/') + 1);
  if (!name.starts_with(kPrefix)) {
    return arguments;
  }
  if (std::none_of(arguments.begin(), arguments.end(), is_device_choice)) {
    // The last two alone: other words of these letters are values of options.
    const auto begin = arguments.end() - std::min<std::ptrdiff_t>(2, std::ssize(arguments));
    std::for_each(begin, arguments.end(), [](std::string &word) {
      if (std::find(kDeviceWords.begin(), kDeviceWords.end(), word) != kDeviceWords.end()) word.assign(1, 'H');
    });
  }
  arguments.insert(arguments.begin(), name.substr(kPrefix.size()));
  return arguments;
}

}  // namespace sluice::bench
