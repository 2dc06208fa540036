// SPDX-License-Identifier: BSD-3-Clause
// The knobs: SLUICE_* environment variables, read once, checked, and reported when unknown. The table is knobs.def.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace sluice {

enum class KnobType : std::uint8_t { kBool, kEnum, kBytes, kText };
enum class KnobSource : std::uint8_t { kDefault, kEnvironment };

// One line of knobs.def, as text.
struct KnobLine {
  const char *name;
  KnobType type;
  const char *default_value;
  const char *range;
  const char *stability;
  const char *doc;
};

// One knob with its value, for `sluice info`.
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
  // that names the knob, the value and the range.
  static Knobs read(const Environment &environment, std::vector<Status> *problems);

  // The process's knobs, read at the first call; problems are logged then. Any thread.
  static const Knobs &process();

  // 0 or 1 / the chosen word / bytes / the text of a knob, by its field in knobs.def. Setup cost: a table look-up.
  [[nodiscard]] bool is_on(std::string_view name) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view name) const;
  [[nodiscard]] const std::string &text(std::string_view name) const;

  // Whether the environment gives it a value that holds. Setup cost.
  [[nodiscard]] bool is_set(std::string_view name) const;

  [[nodiscard]] const std::vector<KnobValue> &values() const noexcept { return values_; }

 private:
  [[nodiscard]] const KnobValue &find(std::string_view name) const;
  std::vector<KnobValue> values_;
};

// The lines of knobs.def in order.
const std::vector<KnobLine> &knob_lines();

// Whether a knob of that name is in the table, and `value` is in its range.
[[nodiscard]] bool is_knob_value(std::string_view name, std::string_view value);

// Names of `environment` (as "NAME=value" lines, like environ) that begin with SLUICE_ and are neither in knobs.def nor
// begin with one of `backend_prefixes` ("SLUICE_<BACKEND>_", whose own tables are checked when they are loaded). Each
// comes with the nearest known name as a suggestion, in the text.
std::vector<std::string> unknown_knobs(const std::vector<std::string> &environment,
                                       const std::vector<std::string> &backend_prefixes);

// "64K" -> 65536. False when the text is no number with an optional suffix K, M or G, or does not fit in 64 bits.
bool parse_bytes(std::string_view text, std::uint64_t *bytes) noexcept;

}  // namespace sluice
