// SPDX-License-Identifier: BSD-3-Clause
// The settings: thresholds and limits with a name and no variable of their own (settings.def), and the words of
// SLUICE_TUNING, which give them values. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/knob_line.hpp"
#include "base/status.hpp"

namespace sluice {

// The lines of settings.def in order.
inline constexpr auto kSettings = std::to_array<KnobLine>({
#define SLUICE_SETTING(name, type, default_value, range, is_tunable, doc) \
  {#name, KnobType::k##type, default_value, range, "", is_tunable, doc},
#include "base/settings.def"
#undef SLUICE_SETTING
});

// Its place in kSettings; the number of settings: there is none of that name. (A number, because the compiler's check
// for undefined behaviour leaves no comparison of a pointer in a constant.)
constexpr std::size_t setting_index(std::string_view name) noexcept {
  std::size_t index = 0;
  while (index < kSettings.size() && name != kSettings[index].name) ++index;
  return index;
}
// The setting of that name; null: there is none.
constexpr const KnobLine *find_setting(std::string_view name) noexcept {
  const std::size_t index = setting_index(name);
  return index < kSettings.size() ? &kSettings[index] : nullptr;
}

// The default of a setting that is a number: itself, bytes or nanoseconds. A name that is no such setting does not
// compile.
consteval std::uint64_t default_number(std::string_view name) {
  std::uint64_t number = 0;
  const std::size_t index = setting_index(name);
  if (index == kSettings.size() || !parse_value(kSettings[index].type, kSettings[index].default_value, &number)) {
    throw "no number of settings.def";
  }
  return number;
}

// What SLUICE_TUNING says.
struct TuningWords {
  std::string tables = "auto";  // auto, off, or the path of a file or folder
  std::vector<std::pair<const KnobLine *, std::string>> values;
};

// Reads words with commas between, of which the last of a kind holds. What is no setting, or out of its range, is left
// out and added to `problems` with the setting, the value, and what is allowed or the nearest known name.
[[nodiscard]] TuningWords parse_tuning_words(std::string_view text, std::vector<Status> *problems);

// The setting whose name is nearest to `name`.
[[nodiscard]] const KnobLine &nearest_setting(std::string_view name);

// In how many places two names differ, at least: for "did you mean".
[[nodiscard]] std::size_t name_distance(std::string_view a, std::string_view b);

}  // namespace sluice
