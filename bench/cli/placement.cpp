// SPDX-License-Identifier: BSD-3-Clause
// The words that say where messages lie.
#include "bench/cli/placement.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iterator>

namespace sluice::bench {
namespace {

sluice_memory_kind_t parse_placement(const std::string &word) {
  if (word == "H") return SLUICE_MEMORY_HOST;
  if (word == "D") return SLUICE_MEMORY_DEVICE;
  if (word == "P") return SLUICE_MEMORY_PINNED;
  if (word == "M" || word == "MD" || word == "MH") return SLUICE_MEMORY_SHARED;
  throw OptionError(fmt::format("placement '{}' is unknown: H, D, M (MD, MH) or P", word));
}

// D,H,D,H
std::vector<sluice_memory_kind_t> parse_list(const std::string &word) {
  std::vector<sluice_memory_kind_t> kinds;
  for (const std::string &one : CLI::detail::split(word, ',')) {
    kinds.push_back(parse_placement(one));
  }
  return kinds;
}

int distance_from_host(sluice_memory_kind_t kind) {
  constexpr std::array kOrder{SLUICE_MEMORY_HOST, SLUICE_MEMORY_PINNED, SLUICE_MEMORY_SHARED, SLUICE_MEMORY_DEVICE};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), kind) - kOrder.begin());
}

}  // namespace

std::vector<std::vector<std::string>> placements_of(const std::vector<std::string> &words) {
  if (words.size() != 1 || words.front().find(':') == std::string::npos) {
    return {words};
  }
  std::vector<std::vector<std::string>> placements;
  for (const std::string &pair : CLI::detail::split(words.front(), ',')) {
    placements.push_back(CLI::detail::split(pair, ':'));
  }
  return placements;
}

void interpret_placement(const std::vector<std::string> &words, Options &options) {
  const TestInfo &test = *options.test;
  if (!test.has_placement) {
    if (!words.empty()) {
      throw OptionError(fmt::format("{} takes no placement words", test.name));
    }
  } else if (words.empty()) {
    options.placement.fill(options.device.empty() ? SLUICE_MEMORY_HOST : SLUICE_MEMORY_DEVICE);
  } else if (words.size() == 1 && words.front().find(',') != std::string::npos) {
    options.rank_placement = parse_list(words.front());
    const auto others = std::next(options.rank_placement.begin());
    options.placement = {options.rank_placement.front(),
                         *std::max_element(others, options.rank_placement.end(), [](auto a, auto b) {
                           return distance_from_host(a) < distance_from_host(b);
                         })};
  } else if (words.size() == 2) {
    options.placement = {parse_placement(words[0]), parse_placement(words[1])};
  } else if (words.size() == 1 && test.family == Family::coll) {
    options.placement.fill(parse_placement(words[0]));
  } else {
    throw OptionError("placement needs two words, for rank 0 and rank 1, such as D D, or one of all ranks: D,H,D,H");
  }
  if (options.device.empty() && (test.needs_device || options.has_device_side())) {
    throw OptionError(fmt::format("{} needs a device module here: give -d <name>; --list-devices names them",
                                  test.needs_device ? test.name : "this placement"));
  }
}

}  // namespace sluice::bench
