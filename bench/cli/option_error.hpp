// SPDX-License-Identifier: BSD-3-Clause
// The one error of command lines: its text is the line that the user sees.
#pragma once

#include <stdexcept>

namespace sluice::bench {

// Thrown for anything wrong in a command line. Every rank reads the same line, so every rank throws it.
class OptionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace sluice::bench
