// SPDX-License-Identifier: BSD-3-Clause
// Options that concern the messages themselves, and what is said about their times. All throw OptionError.
#pragma once

#include <string>

#include "bench/cli/options.hpp"

namespace sluice::bench {

struct PackingWords {
  bool wants_packed = false;
  bool wants_compare = false;
  bool is_staged = false;  // --naive or --compare-naive was given
};

// True when messages are packed by hand: the route is chosen then.
bool interpret_packing(const PackingWords &words, Options &options);

// Sizes, route and test suit what the messages are made of and the calls that carry them.
void require_message_options(const Options &options);

// The memory that windows of a one-sided test are over suits the kind of window; window: the word of -w, or "".
void interpret_window(const std::string &window, Options &options);

// rotate: the word of --rotate, or "". Reads options.is_cold, test and batch.
void interpret_freshness(const std::string &rotate, Options &options);

// percentiles: numbers with commas between them, or "". Reads options.wants_samples and json_path.
void interpret_percentiles(const std::string &percentiles, Options &options);

}  // namespace sluice::bench
