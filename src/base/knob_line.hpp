// SPDX-License-Identifier: BSD-3-Clause
// A line of knobs.def or settings.def, and the texts that stand for its values. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace sluice {

// kNumber, kBytes and kDuration are written as a number (parse_value).
enum class KnobType : std::uint8_t { kBool, kEnum, kNumber, kBytes, kDuration, kText, kTuning };

struct KnobLine {
  const char *name;  // of a knob: its variable
  KnobType type;
  const char *default_value;
  const char *range;
  const char *stability;  // of a knob; "" of a setting
  bool is_tunable;        // of a setting: tuning tables may set it
  const char *doc;
};

// How often one of the units of a type holds that of its numbers: bytes, and nanoseconds. 0: it is no unit.
constexpr std::uint64_t unit_of(KnobType type, std::string_view unit) noexcept {
  constexpr std::uint64_t kThousand = 1000;
  if (type == KnobType::kDuration) {
    return unit == "ns"   ? 1
           : unit == "us" ? kThousand
           : unit == "ms" ? kThousand * kThousand
           : unit == "s"  ? kThousand * kThousand * kThousand
                          : 0;
  }
  if (unit.empty()) return 1;
  if (type != KnobType::kBytes || unit.size() != 1) return 0;
  const char letter = unit[0];
  return letter == 'K' || letter == 'k'   ? std::uint64_t{1} << 10
         : letter == 'M' || letter == 'm' ? std::uint64_t{1} << 20
         : letter == 'G' || letter == 'g' ? std::uint64_t{1} << 30
                                          : 0;
}

// A number as `type` is written: "64" (kNumber), "64K" (kBytes), "5us" (kDuration, in nanoseconds). False when the text
// is none, or does not fit in 64 bits; *value is left alone then.
constexpr bool parse_value(KnobType type, std::string_view text, std::uint64_t *value) noexcept {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t number = 0;
  std::size_t n_digits = 0;
  for (; n_digits < text.size() && text[n_digits] >= '0' && text[n_digits] <= '9'; ++n_digits) {
    const auto digit = static_cast<std::uint64_t>(text[n_digits] - '0');
    if (number > (kMost - digit) / 10) return false;
    number = number * 10 + digit;
  }
  const std::uint64_t unit = unit_of(type, text.substr(n_digits));
  if (n_digits == 0 || unit == 0 || number > kMost / unit) return false;
  *value = number * unit;
  return true;
}

// "64K" -> 65536, as parse_value().
constexpr bool parse_bytes(std::string_view text, std::uint64_t *bytes) noexcept {
  return parse_value(KnobType::kBytes, text, bytes);
}

// Whether `value` is one that the line's type and range allow.
[[nodiscard]] bool takes(const KnobLine &line, std::string_view value) noexcept;

}  // namespace sluice
