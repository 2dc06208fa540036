// SPDX-License-Identifier: BSD-3-Clause
// The values that a backend's knobs take: one rule for all backends. A knobs.def says the range of each knob:
//   "a|b|c"      one of these words; one with commas, "a|b,c", stands for any list of its words
//   "0..16"      a whole number from the first to the second
//   ""           any text
// A knob's default is always taken, and is what holds where the environment has a value out of the range.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sluice/backend.h"

namespace sluice::backends {

// A line of a knobs.def.
struct Knob {
  std::string_view name;
  std::string_view default_value;
  std::string_view range;
};

// Takes the first of the words that `separator` parts out of *words, which has at least one.
inline std::string_view take_word(std::string_view *words, char separator) {
  const std::string_view word = words->substr(0, words->find(separator));
  words->remove_prefix(word.size() < words->size() ? word.size() + 1 : word.size());
  return word;
}

inline bool is_in_numbers(std::string_view range, std::string_view text) {
  const auto number_of = [](std::string_view digits, uint64_t *number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *number);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const size_t dots = range.find("..");
  uint64_t low = 0;
  uint64_t high = 0;
  uint64_t number = 0;
  return number_of(range.substr(0, dots), &low) && number_of(range.substr(dots + 2), &high) &&
         number_of(text, &number) && number >= low && number <= high;
}

// Each of the words of `text` is one of `words`; commas part both, but a single word stands for itself.
inline bool is_list_of(std::string_view words, std::string_view text) {
  if (words.find(',') == std::string_view::npos) return words == text;
  const std::string all = "," + std::string(words) + ",";
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = "," + std::string(text.substr(begin, end - begin)) + ",";
    if (word == ",," || all.find(word) == std::string::npos) return false;
    begin = end + 1;
  }
  return true;
}

inline bool is_taken(const Knob &knob, std::string_view text) {
  if (knob.range.empty() || text == knob.default_value) return true;
  if (knob.range.find("..") != std::string_view::npos) return is_in_numbers(knob.range, text);
  for (std::string_view rest = knob.range; !rest.empty();) {
    if (is_list_of(take_word(&rest, '|'), text)) return true;
  }
  return false;
}

// What holds where the environment, or who lends the module its knobs, gives `text`; null: nothing.
inline std::string_view in_force(const Knob &knob, const char *text) {
  return text != nullptr && is_taken(knob, text) ? std::string_view(text) : knob.default_value;
}

// Says of each knob that has a value out of its range that the default holds. Once for each init().
template <size_t n>
void report_wrong_knobs(const sluice_host_services_t *services, const Knob (&knobs)[n]) {
  if (services == nullptr || services->log == nullptr || services->knob == nullptr) return;
  for (const Knob &knob : knobs) {
    const char *text = services->knob(std::string(knob.name).c_str());
    if (text == nullptr || is_taken(knob, text)) continue;
    std::string said = "knob ";
    said.append(knob.name).append(" has the value \"").append(text).append("\"; allowed is ").append(knob.range);
    said.append("; the default ").append(knob.default_value.empty() ? "(empty)" : knob.default_value);
    services->log(1, said.append(" is used. Correct or unset the variable.").c_str());
  }
}

// The text that holds for the knob of that name; "" for none of the table.
template <size_t n>
std::string_view find_in_force(const sluice_host_services_t *services, const Knob (&knobs)[n], const char *name) {
  for (const Knob &knob : knobs) {
    if (knob.name != name) continue;
    return in_force(knob, services != nullptr && services->knob != nullptr ? services->knob(name) : nullptr);
  }
  return "";
}

}  // namespace sluice::backends
