// SPDX-License-Identifier: BSD-3-Clause
// How much is checked, and who looks.
#pragma once

#include <string>

#include "bench/cli/options.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace sluice::bench {

// The words as the user typed them.
struct CheckWords {
  bool wants_all = false;  // -c
  std::string mode;
  std::string place = "auto";
};

void declare_check_options(CLI::App &app, CheckWords &words);

// Throws OptionError.
void interpret_check(const CheckWords &words, Options &options);

}  // namespace sluice::bench
