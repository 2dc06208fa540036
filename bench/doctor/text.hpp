// SPDX-License-Identifier: BSD-3-Clause
// What is printed. Pure.
#pragma once

#include <string>

#include "bench/doctor/findings.hpp"

namespace sluice::bench::doctor {

// For people, in three parts of lines of up to 100 columns: the ranks, of which those with equal facts share a line;
// the pairs; the conclusions.
std::string text_of_ranks(const Findings &findings);
std::string text_of_pairs(const Findings &findings);
std::string text_of_conclusions(const Findings &findings);

// For scripts: one JSON object.
std::string json_of(const Findings &findings);

// `text` in lines of up to 100 columns, each of which begins with `indent` blanks; a longer word has a line of its own.
std::string wrapped(const std::string &text, std::size_t indent);

}  // namespace sluice::bench::doctor
