// SPDX-License-Identifier: BSD-3-Clause
#include "base/knobs.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"

namespace sluice {
namespace {

// "SLUICE_COLL_SEGMENT" -> "coll_segment", as which a setting is written.
std::string setting_name(std::string_view variable) {
  std::string name(variable.substr(std::string_view("SLUICE_").size()));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

// What to write in the place of an unknown variable.
std::string nearest_to(std::string_view variable) {
  const std::string as_setting = setting_name(variable);
  const KnobLine &setting = nearest_setting(as_setting);
  const KnobLine &knob = *std::ranges::min_element(
      knob_lines(), {}, [&](const KnobLine &line) { return name_distance(variable, line.name); });
  if (name_distance(as_setting, setting.name) >= name_distance(variable, knob.name)) return knob.name;
  return std::string("SLUICE_TUNING=") + setting.name + "=...";
}

}  // namespace

const std::vector<KnobLine> &knob_lines() {
  static const std::vector<KnobLine> lines = {
#define SLUICE_KNOB(name, type, default_value, range, stability, doc) \
  {#name, KnobType::k##type, default_value, range, stability, false, doc},
#include "base/knobs.def"
#undef SLUICE_KNOB
  };
  return lines;
}

Knobs Knobs::read(const Environment &environment, std::vector<Status> *problems) {
  Knobs knobs;
  for (const KnobLine &line : knob_lines()) {
    KnobValue value{line, line.default_value, KnobSource::kDefault};
    const char *given = environment(line.name);
    if (given != nullptr && takes(line, given)) {
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
  knobs.read_settings(problems);
  return knobs;
}

void Knobs::read_settings(std::vector<Status> *problems) {
  const TuningWords words = parse_tuning_words(text("SLUICE_TUNING"), problems);
  tuning_tables_ = words.tables;
  for (const KnobLine &line : kSettings) settings_.push_back({line, line.default_value, KnobSource::kDefault});
  for (const auto &[line, value] : words.values) {
    KnobValue &setting = settings_[static_cast<std::size_t>(line - kSettings.data())];
    setting.value = value;
    setting.source = KnobSource::kEnvironment;
  }
}

const Knobs &Knobs::process() {
  static const Knobs knobs = [] {
    std::vector<Status> problems;
    Knobs read_knobs = Knobs::read(environment_variable, &problems);
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
  const auto is_it = [&](const KnobValue &value) { return name == value.line.name; };
  const auto knob = std::ranges::find_if(values_, is_it);
  if (knob != values_.end()) return *knob;
  const auto setting = std::ranges::find_if(settings_, is_it);
  // A name that is in no table is a defect of the caller; the first line stands in so that nothing crashes.
  return setting != settings_.end() ? *setting : values_.front();
}

bool Knobs::is_on(std::string_view name) const {
  return find(name).value == "1";
}

std::uint64_t Knobs::number_of(std::string_view name) const {
  const KnobValue &knob = find(name);
  std::uint64_t number = 0;
  return parse_value(knob.line.type, knob.value, &number) ? number : 0;
}

std::uint64_t Knobs::bytes(std::string_view name) const {
  return number_of(name);
}

std::uint64_t Knobs::number(std::string_view name) const {
  return number_of(name);
}

std::chrono::nanoseconds Knobs::duration(std::string_view name) const {
  return std::chrono::nanoseconds(number_of(name));
}

const std::string &Knobs::text(std::string_view name) const {
  return find(name).value;
}

bool Knobs::is_set(std::string_view name) const {
  return find(name).source == KnobSource::kEnvironment;
}

std::vector<std::string> unknown_knobs(const std::vector<std::string> &environment,
                                       const std::vector<std::string> &backend_prefixes) {
  std::vector<std::string> unknown;
  for (const std::string &entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    const auto is_prefix_of_name = [&](const std::string &prefix) { return name.starts_with(prefix); };
    const auto is_name = [&](const KnobLine &line) { return name == line.name; };
    const auto &lines = knob_lines();
    // sluice-bench has variables of its own, which its launcher hands down. SLUICE_ROOT is what environment modules
    // set.
    if (!name.starts_with("SLUICE_") || name.starts_with("SLUICE_BENCH_") || name == "SLUICE_ROOT" ||
        std::any_of(lines.begin(), lines.end(), is_name) ||
        std::any_of(backend_prefixes.begin(), backend_prefixes.end(), is_prefix_of_name)) {
      continue;
    }
    const std::string setting = setting_name(name);
    std::string message = "unknown knob " + name + "; ";
    if (find_setting(setting) != nullptr) {
      message.append("it is a setting: write SLUICE_TUNING=").append(setting).append("=...");
    } else {
      message.append("the nearest known one is ").append(nearest_to(name)).append(".");
    }
    unknown.push_back(message.append(" `sluice info` lists them all."));
  }
  return unknown;
}

}  // namespace sluice
