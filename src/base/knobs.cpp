// SPDX-License-Identifier: BSD-3-Clause
#include "base/knobs.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "base/log.hpp"

namespace sluice {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t end = text.find(separator);
    words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + 1);
  }
}

bool is_one_of(std::string_view value, std::string_view choices) {
  const auto words = split(choices, '|');
  return std::find(words.begin(), words.end(), value) != words.end();
}

bool is_in_range(std::string_view value, std::string_view range) {
  const std::size_t dots = range.find("..");
  std::uint64_t number = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  return parse_bytes(value, &number) && parse_bytes(range.substr(0, dots), &low) &&
         parse_bytes(range.substr(dots + 2), &high) && number >= low && number <= high;
}

bool is_valid(const KnobLine &line, std::string_view value) {
  switch (line.type) {
    case KnobType::kBool:
    case KnobType::kEnum:
      return is_one_of(value, line.range);
    case KnobType::kBytes:
      return is_in_range(value, line.range);
    case KnobType::kText:
      return true;
  }
  return false;
}

// Edit distance, for "did you mean".
std::size_t distance(std::string_view a, std::string_view b) {
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

std::string nearest_name(std::string_view name) {
  const auto &lines = knob_lines();
  const auto nearest = std::min_element(lines.begin(), lines.end(), [&](const KnobLine &a, const KnobLine &b) {
    return distance(name, a.name) < distance(name, b.name);
  });
  return nearest->name;
}

}  // namespace

const std::vector<KnobLine> &knob_lines() {
  static const std::vector<KnobLine> lines = {
#define SLUICE_KNOB(field, name, type, default_value, range, stability, doc) \
  {#name, KnobType::k##type, default_value, range, stability, doc},
#include "base/knobs.def"
#undef SLUICE_KNOB
  };
  return lines;
}

bool parse_bytes(std::string_view text, std::uint64_t *bytes) noexcept {
  std::uint64_t number = 0;
  const char *begin = text.data();
  const char *end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || rest == begin) return false;
  unsigned shift = 0;
  if (rest != end) {
    switch (*rest) {
      case 'K':
      case 'k':
        shift = 10;
        break;
      case 'M':
      case 'm':
        shift = 20;
        break;
      case 'G':
      case 'g':
        shift = 30;
        break;
      default:
        return false;
    }
    if (rest + 1 != end) return false;
  }
  if (number > std::numeric_limits<std::uint64_t>::max() >> shift) return false;
  *bytes = number << shift;
  return true;
}

Knobs Knobs::read(const Environment &environment, std::vector<Status> *problems) {
  Knobs knobs;
  for (const KnobLine &line : knob_lines()) {
    KnobValue value{line, line.default_value, KnobSource::kDefault};
    const char *given = environment(line.name);
    if (given != nullptr && is_valid(line, given)) {
      value.value = given;
      value.source = KnobSource::kEnvironment;
    } else if (given != nullptr) {
      problems->push_back(Status::error(ErrorKind::kInvalidArgument,
                                        std::string("knob ") + line.name + " has the value \"" + given +
                                            "\"; allowed is " + line.range + "; the default " + line.default_value +
                                            " is used. Correct or unset the variable."));
    }
    knobs.values_.push_back(std::move(value));
  }
  return knobs;
}

const Knobs &Knobs::process() {
  static const Knobs knobs = [] {
    std::vector<Status> problems;
    Knobs read_knobs = Knobs::read([](const char *name) { return std::getenv(name); }, &problems);
    const std::string &level = read_knobs.text("SLUICE_LOG");
    log::set_level(level == "error"  ? log::Level::kError
                   : level == "warn" ? log::Level::kWarn
                   : level == "info" ? log::Level::kInfo
                                     : log::Level::kDebug);
    for (const Status &problem : problems) log::error("base", problem.message());
    return read_knobs;
  }();
  return knobs;
}

const KnobValue &Knobs::find(std::string_view name) const {
  const auto found =
      std::find_if(values_.begin(), values_.end(), [&](const KnobValue &value) { return name == value.line.name; });
  // A name that is not in the table is a defect of the caller; the first line stands in so that nothing crashes.
  return found == values_.end() ? values_.front() : *found;
}

bool Knobs::is_on(std::string_view name) const {
  return find(name).value == "1";
}

std::uint64_t Knobs::bytes(std::string_view name) const {
  std::uint64_t number = 0;
  return parse_bytes(find(name).value, &number) ? number : 0;
}

const std::string &Knobs::text(std::string_view name) const {
  return find(name).value;
}

bool Knobs::is_set(std::string_view name) const {
  return find(name).source == KnobSource::kEnvironment;
}

bool is_knob_value(std::string_view name, std::string_view value) {
  const auto &lines = knob_lines();
  return std::any_of(lines.begin(), lines.end(),
                     [&](const KnobLine &line) { return name == line.name && is_valid(line, value); });
}

std::vector<std::string> unknown_knobs(const std::vector<std::string> &environment,
                                       const std::vector<std::string> &backend_prefixes) {
  std::vector<std::string> unknown;
  for (const std::string &entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    const auto is_prefix_of_name = [&](const std::string &prefix) { return name.starts_with(prefix); };
    const auto is_name = [&](const KnobLine &line) { return name == line.name; };
    const auto &lines = knob_lines();
    // sluice-bench has variables of its own, which its launcher hands down.
    if (!name.starts_with("SLUICE_") || name.starts_with("SLUICE_BENCH_") ||
        std::any_of(lines.begin(), lines.end(), is_name) ||
        std::any_of(backend_prefixes.begin(), backend_prefixes.end(), is_prefix_of_name)) {
      continue;
    }
    unknown.push_back("unknown knob " + name + "; the nearest known one is " + nearest_name(name) +
                      ". `sluice info` lists them all.");
  }
  return unknown;
}

}  // namespace sluice
