// SPDX-License-Identifier: BSD-3-Clause
#include "base/settings.hpp"

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

bool is_one_of(std::string_view value, std::string_view choices) noexcept {
  while (true) {
    const std::size_t end = choices.find('|');
    if (value == choices.substr(0, end)) return true;
    if (end == std::string_view::npos) return false;
    choices.remove_prefix(end + 1);
  }
}

bool is_in_range(KnobType type, std::string_view value, std::string_view range) noexcept {
  const std::size_t dots = range.find("..");
  std::uint64_t number = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  return dots != std::string_view::npos && parse_value(type, value, &number) &&
         parse_value(type, range.substr(0, dots), &low) && parse_value(type, range.substr(dots + 2), &high) &&
         number >= low && number <= high;
}

// What a name can be written with; a path that has an = in it has a slash or a dot before that, or is given with one.
bool is_name(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
                              std::string_view::npos;
}

Status wrong_word(std::string text) {
  return Status::error(ErrorKind::kInvalidArgument, std::move(text));
}

void take_value(std::string_view name, std::string_view value, TuningWords *words, std::vector<Status> *problems) {
  const KnobLine *line = find_setting(name);
  std::string said = "SLUICE_TUNING gives ";
  if (line == nullptr) {
    said.append("a value to ").append(name).append(", which is no setting; the nearest one is ");
    said.append(nearest_setting(name).name).append(". `sluice info` lists them all.");
    problems->push_back(wrong_word(std::move(said)));
  } else if (!takes(*line, value)) {
    said.append("the setting ").append(name).append(" the value \"").append(value).append("\"; allowed is ");
    said.append(line->range).append("; the word is left out. Correct or remove it.");
    problems->push_back(wrong_word(std::move(said)));
  } else {
    words->values.emplace_back(line, value);
  }
}

}  // namespace

bool takes(const KnobLine &line, std::string_view value) noexcept {
  switch (line.type) {
    case KnobType::kBool:
    case KnobType::kEnum:
      return is_one_of(value, line.range);
    case KnobType::kNumber:
    case KnobType::kBytes:
    case KnobType::kDuration:
      return is_in_range(line.type, value, line.range);
    case KnobType::kText:
    case KnobType::kTuning:  // each of its words has rules of its own
      return true;
  }
  return false;
}

TuningWords parse_tuning_words(std::string_view text, std::vector<Status> *problems) {
  TuningWords words;
  while (true) {
    const std::size_t end = text.find(',');
    const std::string_view word = text.substr(0, end);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos && is_name(word.substr(0, equals))) {
      take_value(word.substr(0, equals), word.substr(equals + 1), &words, problems);
    } else if (!word.empty()) {
      words.tables = word;
    } else {
      problems->push_back(
          wrong_word("SLUICE_TUNING has an empty word; allowed are auto, off, a file or folder, and name=value, with "
                     "commas between. Remove the comma, or unset the variable."));
    }
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

std::size_t name_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replace, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

const KnobLine &nearest_setting(std::string_view name) {
  return *std::ranges::min_element(kSettings, {}, [&](const KnobLine &line) { return name_distance(name, line.name); });
}

}  // namespace sluice
