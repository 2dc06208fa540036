// SPDX-License-Identifier: BSD-3-Clause
// The runs that one command line asks for: each of its tests with each placement, datatype and type of elements.
#pragma once

#include <string>
#include <vector>

namespace sluice::bench {

// The words that may name several, as the user typed them.
struct SeveralWords {
  std::string tests;
  std::vector<std::string> placement;
  std::string datatypes;
  std::string types;
};

// What one run is given of them.
struct Choice {
  std::string test;
  std::vector<std::string> placement;
  std::string datatype;  // empty: none
  std::string type;      // empty: the test's own
  bool is_first_type = true;
  std::string file;         // tells its files from those of the other runs
  std::string type_suffix;  // behind it, where the test has elements
};

// In the order in which they run: all of a test before the next. Throws OptionError.
std::vector<Choice> choices_of(const SeveralWords &words);

}  // namespace sluice::bench
