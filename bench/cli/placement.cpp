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

// What one rank sends from and receives into.
struct Kinds {
  sluice_memory_kind_t send;
  sluice_memory_kind_t recv;
};

// D, or, of a test with two buffers, D/H.
Kinds parse_kinds(const std::string &word, const TestInfo &test) {
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos) {
    const sluice_memory_kind_t kind = parse_placement(word);
    return {kind, kind};
  }
  if (!test.has_two_buffers) {
    throw OptionError(
        fmt::format("'{}' says what a rank sends from and what it receives into, in one call of a collective: {} has "
                    "no two buffers there, and takes one word a rank, such as D H",
                    word, test.name));
  }
  return {parse_placement(word.substr(0, slash)), parse_placement(word.substr(slash + 1))};
}

int distance_from_host(sluice_memory_kind_t kind) {
  constexpr std::array kOrder{SLUICE_MEMORY_HOST, SLUICE_MEMORY_PINNED, SLUICE_MEMORY_SHARED, SLUICE_MEMORY_DEVICE};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), kind) - kOrder.begin());
}

// Of rank 0, and of the other that is farthest from plain host memory.
std::array<sluice_memory_kind_t, 2> first_and_farthest(const std::vector<sluice_memory_kind_t> &kinds) {
  return {kinds.front(), *std::max_element(std::next(kinds.begin()), kinds.end(), [](auto a, auto b) {
            return distance_from_host(a) < distance_from_host(b);
          })};
}

// D,H,D,H
void interpret_list(const std::string &word, Options &options) {
  for (const std::string &one : CLI::detail::split(word, ',')) {
    const Kinds kinds = parse_kinds(one, *options.test);
    options.rank_placement.push_back(kinds.send);
    options.rank_recv_placement.push_back(kinds.recv);
  }
  options.placement = first_and_farthest(options.rank_placement);
  options.recv_placement = first_and_farthest(options.rank_recv_placement);
}

// Of rank 0 and of the others.
void interpret_two(const std::string &first, const std::string &others, Options &options) {
  const std::array kinds{parse_kinds(first, *options.test), parse_kinds(others, *options.test)};
  options.placement = {kinds[0].send, kinds[1].send};
  options.recv_placement = {kinds[0].recv, kinds[1].recv};
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
    const char *const usual = options.device.empty() ? "H" : "D";
    interpret_two(usual, usual, options);
  } else if (words.size() == 1 && words.front().find(',') != std::string::npos) {
    interpret_list(words.front(), options);
  } else if (words.size() == 2) {
    interpret_two(words[0], words[1], options);
  } else if (words.size() == 1 && test.family == Family::coll) {
    interpret_two(words[0], words[0], options);
  } else {
    throw OptionError("placement needs two words, for rank 0 and rank 1, such as D D, or one of all ranks: D,H,D,H");
  }
  if (options.device.empty() && (test.needs_device || options.has_device_side())) {
    throw OptionError(fmt::format("{} needs a device module here: give -d <name>; --list-devices names them",
                                  test.needs_device ? test.name : "this placement"));
  }
}

}  // namespace sluice::bench
