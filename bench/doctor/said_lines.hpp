// SPDX-License-Identifier: BSD-3-Clause
// What the library below says on standard error while something runs.
#pragma once

#include <string>
#include <vector>

namespace sluice::bench::doctor {

// From its construction on, standard error of the process goes into memory. take() puts the old one back. So does the
// destructor, which writes all that was said to it. A process that ends in between loses what it said. One object at a
// time, one thread.
class SaidLines {
 public:
  SaidLines();
  SaidLines(const SaidLines &) = delete;
  SaidLines &operator=(const SaidLines &) = delete;
  ~SaidLines();

  // Ends it. Returns the texts of the warnings and errors of the library's log; all other lines go to the old standard
  // error. Where nothing could be caught, there are none.
  std::vector<std::string> take();

 private:
  void put_back();

  int caught_ = -1;  // a file in memory
  int former_ = -1;  // standard error as it was
};

// The text of a warning or an error in a line of the log ("sluice[1] warning room text"); empty for other lines. Pure.
std::string warning_in(const std::string &line);

}  // namespace sluice::bench::doctor
