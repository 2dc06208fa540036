// SPDX-License-Identifier: BSD-3-Clause
// The knobs: SLUICE_* environment variables, read once, checked, and reported when unknown. The table is knobs.def. The
// settings, of which SLUICE_TUNING gives the values, are read with them (settings.hpp). All of it: any thread; nothing
// changes a Knobs that has been read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/knob_line.hpp"
#include "base/status.hpp"

namespace sluice {

enum class KnobSource : std::uint8_t { kDefault, kEnvironment };

// One knob or setting with its value, for `sluice info`.
struct KnobValue {
  KnobLine line;
  std::string value;
  KnobSource source = KnobSource::kDefault;
};

class Knobs {
 public:
  // Looks a variable up; null when it is not set.
  using Environment = std::function<const char *(const char *)>;

  // The values that `environment` gives. A wrong value leaves the default in force and adds an error to `problems`
  // that names the knob or the setting, the value and the range.
  static Knobs read(const Environment &environment, std::vector<Status> *problems);

  // The process's knobs, read at the first call; problems are logged then.
  static const Knobs &process();

  // 0 or 1 / bytes / a count / a time / the chosen word or the text of a knob or a setting, by its name; whatever a
  // tuning table says (plan/tuning.hpp). A number is 0 where the value is none. Setup cost: a table look-up.
  [[nodiscard]] bool is_on(std::string_view name) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view name) const;
  [[nodiscard]] std::uint64_t number(std::string_view name) const;
  [[nodiscard]] std::chrono::nanoseconds duration(std::string_view name) const;
  [[nodiscard]] const std::string &text(std::string_view name) const;

  // Whether the environment gives it a value that holds. Setup cost.
  [[nodiscard]] bool is_set(std::string_view name) const;

  // Which tuning tables SLUICE_TUNING wants: auto, off, or a path.
  [[nodiscard]] const std::string &tuning_tables() const noexcept { return tuning_tables_; }

  // All knobs, and all settings, in the order of their tables.
  [[nodiscard]] const std::vector<KnobValue> &values() const noexcept { return values_; }
  [[nodiscard]] const std::vector<KnobValue> &settings() const noexcept { return settings_; }

 private:
  [[nodiscard]] const KnobValue &find(std::string_view name) const;
  [[nodiscard]] std::uint64_t number_of(std::string_view name) const;
  void read_settings(std::vector<Status> *problems);

  std::vector<KnobValue> values_;
  std::vector<KnobValue> settings_;
  std::string tuning_tables_;
};

// The lines of knobs.def in order.
const std::vector<KnobLine> &knob_lines();

// Names of `environment` (as "NAME=value" lines, like environ) that begin with SLUICE_ and are neither in knobs.def nor
// begin with one of `backend_prefixes` ("SLUICE_<BACKEND>_", whose own tables are checked when they are loaded). Each
// comes with what is nearest to it in the text: a knob, or SLUICE_TUNING with a setting.
std::vector<std::string> unknown_knobs(const std::vector<std::string> &environment,
                                       const std::vector<std::string> &backend_prefixes);

}  // namespace sluice
