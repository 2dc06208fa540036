// SPDX-License-Identifier: BSD-3-Clause
// Reads SLUICE_EMU_* from the environment.
#include "runtime/knobs.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "runtime/error.h"

namespace emurt {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 46U;

struct KnobText {
  const char *name;  // whole
  std::string_view value;
};

enum KnobIndex {
#define EMU_KNOB(name, default_value, doc) kKnob_##name,
#include "knobs.def"
#undef EMU_KNOB
};

KnobText knob_text(KnobIndex index) {
  struct Entry {
    const char *name;
    const char *default_value;
  };
  static constexpr Entry kEntries[] = {
#define EMU_KNOB(name, default_value, doc) {"SLUICE_EMU_" #name, default_value},
#include "knobs.def"
#undef EMU_KNOB
  };
  const Entry &entry = kEntries[index];
  const char *set = std::getenv(entry.name);  // NOLINT(concurrency-mt-unsafe): once, at the runtime's start
  return {entry.name, set != nullptr ? set : entry.default_value};
}

emu_result_t parse_number(KnobIndex index, uint64_t max, uint64_t *number) {
  const KnobText text = knob_text(index);
  const char *begin = text.value.data();
  const char *end = begin + text.value.size();
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end || value > max) {
    return fail(EMU_ERROR_CONFIGURATION, "{}={}: expected a whole number from 0 to {}; correct or unset it", text.name,
                text.value, max);
  }
  *number = value;
  return EMU_SUCCESS;
}

}  // namespace

emu_result_t read_knobs(Knobs *knobs) {
  struct Number {
    KnobIndex index;
    uint64_t max;
    uint64_t value;
  };
  Number numbers[] = {{kKnob_DEVICES, 16, 0},
                      {kKnob_MEMORY_BYTES, kMaxBytes, 0},
                      {kKnob_REUSE_ADDRESSES, 1, 0},
                      {kKnob_QUARANTINE_RANGES, 65536, 0},
                      {kKnob_QUARANTINE_BYTES, kMaxBytes, 0},
                      {kKnob_SEED, INT64_MAX, 0}};
  for (Number &number : numbers) {
    const emu_result_t result = parse_number(number.index, number.max, &number.value);
    if (result != EMU_SUCCESS) return result;
  }
  knobs->n_devices = static_cast<int32_t>(numbers[0].value);
  knobs->memory_bytes = numbers[1].value;
  knobs->reuse_addresses = numbers[2].value != 0;
  knobs->quarantine_ranges = numbers[3].value;
  knobs->quarantine_bytes = numbers[4].value;
  knobs->seed = numbers[5].value;
  knobs->profile = knob_text(kKnob_PROFILE).value;
  knobs->link_file = knob_text(kKnob_LINK_FILE).value;
  knobs->fault = knob_text(kKnob_FAULT).value;
  return EMU_SUCCESS;
}

}  // namespace emurt
