// SPDX-License-Identifier: BSD-3-Clause
// A line on stderr that says where a long run is.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "bench/cli/options.hpp"

namespace sluice::bench {

// "test 2 of 5, bw: size 3 of 23 (65536 B), 12 s"; n_done: sizes whose rows are known.
std::string progress_text(const Options &options, std::size_t n_done, std::chrono::seconds elapsed);

// Shown when stderr is a terminal, where the line is written over itself, or when it is asked for (--progress): then
// each is a line of its own, for a launcher's pipe or a log. Writing to a stream that is gone does no harm to the run.
class Progress {
 public:
  // options outlive it. is_writer: this is rank 0.
  Progress(const Options &options, bool is_writer);
  // The line goes when the test ends, however it ends.
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  // The size behind n_done others begins.
  void show(std::size_t n_done);
  // Takes the line away, for something else to be printed; nothing on a pipe.
  void clear();

 private:
  const Options &options_;
  bool is_terminal_;
  bool is_shown_;
  bool is_there_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace sluice::bench
