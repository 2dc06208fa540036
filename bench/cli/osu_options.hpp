// SPDX-License-Identifier: BSD-3-Clause
// What OSU's programs take and sluice-bench has under another name, as a fixed habit, or not at all: a script's words
// are understood, or one line says what to use instead. What both have alike is among the other options.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cli/options.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace sluice::bench {

// The words as the user typed them.
struct OsuWords {
  std::int64_t validation_warmup = 0;
  std::int64_t array_size = 0;
  std::int64_t memory_limit = 0;
  std::int64_t n_pairs = 0;  // 0: as many as there are
  int print_rate = 1;
  int vary_window = 0;
  std::string check_log;
  std::string root;
  std::string graph;
  std::string counters;
  bool wants_session = false;
  bool is_in_place = false;
};

void declare_osu_options(CLI::App &app, OsuWords &words);

// Arguments whose form CLI11 does not know, as it knows them: a bare -z or --tail-lat, and -clog:DIR.
std::vector<std::string> in_plain_form(const std::vector<std::string> &arguments);

// OSU's words for a device: rocm is a module of another name, managed a memory of one. Changes options.device and
// placement words.
void interpret_osu_device(Options &options, std::vector<std::string> &placement);

// Reads options.test. Adds notes on what is accepted and changes nothing. Throws OptionError.
void interpret_osu_words(const OsuWords &words, Options &options);

// What to use where `test`, a name of OSU's, has no counterpart; "" for any other name.
std::string advice_for_missing(const std::string &test);

// The elements that -T lists, "all" being OSU's three; one empty word when the text is empty.
std::vector<std::string> element_words_of(const std::string &text);

}  // namespace sluice::bench
