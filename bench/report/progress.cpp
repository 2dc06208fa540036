// SPDX-License-Identifier: BSD-3-Clause
// Where a long run is.
#include "bench/report/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace sluice::bench {

std::string progress_text(const Options &options, std::size_t n_done, std::chrono::seconds elapsed) {
  std::string text = options.n_runs > 1 ? fmt::format("test {} of {}, ", options.run_number, options.n_runs) : "";
  text += options.test->name;
  if (options.test->has_sizes && n_done < options.sizes.size()) {
    text += fmt::format(": size {} of {} ({} B)", n_done + 1, options.sizes.size(), options.sizes[n_done]);
  }
  return text + fmt::format(", {} s", elapsed.count());
}

Progress::Progress(const Options &options, bool is_writer)
    : options_(options),
      is_terminal_(::isatty(STDERR_FILENO) == 1),
      is_shown_(is_writer && (is_terminal_ || options.wants_progress)) {}

Progress::~Progress() {
  clear();
}

void Progress::show(std::size_t n_done) {
  if (!is_shown_ || (n_done > 0 && n_done >= options_.sizes.size())) {
    return;
  }
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin_);
  const std::string line = "sluice-bench: " + progress_text(options_, n_done, elapsed);
  // "\033[K": whatever stood behind it goes.
  const std::string text = is_terminal_ ? "\r" + line + "\033[K" : line + "\n";
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  is_there_ = is_terminal_;
}

void Progress::clear() {
  if (is_there_) {
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    is_there_ = false;
  }
}

}  // namespace sluice::bench
