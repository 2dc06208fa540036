// SPDX-License-Identifier: BSD-3-Clause
// The words of SLUICE_EMU_MACHINE: name=value, with commas between. The runtime acts on most, the module on `plays`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace emurt {

// Takes the first of the words that `separator` parts out of *words.
inline std::string_view next_word(std::string_view *words, char separator) {
  const std::string_view word = words->substr(0, words->find(separator));
  words->remove_prefix(std::min(word.size() + 1, words->size()));
  return word;
}

// The value of the last word of that name; "" where there is none.
inline std::string_view value_of(std::string_view machine, std::string_view name) {
  std::string_view value;
  while (!machine.empty()) {
    const std::string_view word = next_word(&machine, ',');
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos && word.substr(0, equals) == name) value = word.substr(equals + 1);
  }
  return value;
}

}  // namespace emurt
