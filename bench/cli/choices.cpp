// SPDX-License-Identifier: BSD-3-Clause
// The runs that one command line asks for.
#include "bench/cli/choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench/cli/osu_options.hpp"
#include "bench/cli/placement.hpp"

namespace sluice::bench {
namespace {

// D/H as D_H, vector:128:64 as vector_128_64.
std::string with_plain_letters(std::string word) {
  std::replace(word.begin(), word.end(), '/', '_');
  std::replace(word.begin(), word.end(), ':', '_');
  return word;
}

}  // namespace

std::vector<Choice> choices_of(const SeveralWords &words) {
  const std::vector<std::vector<std::string>> placements = placements_of(words.placement);
  const std::vector<std::string> datatypes = CLI::detail::split(words.datatypes, ',');
  const std::vector<std::string> types = element_words_of(words.types);
  std::vector<Choice> choices;
  for (const std::string &test : CLI::detail::split(words.tests, ',')) {
    for (const std::vector<std::string> &placement : placements) {
      for (const std::string &datatype : datatypes) {
        std::string file = test;
        if (placements.size() > 1) file += with_plain_letters(fmt::format(".{}", fmt::join(placement, "-")));
        if (datatypes.size() > 1) file += with_plain_letters("." + datatype);
        for (const std::string &type : types) {
          choices.push_back({test, placement, datatype, type, type == types.front(), file,
                             types.size() > 1 ? "." + type : std::string()});
        }
      }
    }
  }
  return choices;
}

}  // namespace sluice::bench
