// SPDX-License-Identifier: BSD-3-Clause
// Lists of words that the build gives to the tests of capabilities through the environment.
#pragma once

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace sluice::tests {

// The comma-separated words of a text.
inline std::vector<std::string> split_words(const std::string &text) {
  std::vector<std::string> words;
  std::istringstream rest(text);
  for (std::string word; std::getline(rest, word, ',');) words.push_back(word);
  return words;
}

// The same of an environment variable; none when it is not set.
inline std::vector<std::string> words_of(const char *variable) {
  const char *text = std::getenv(variable);
  return split_words(text != nullptr ? text : "");
}

}  // namespace sluice::tests
