// SPDX-License-Identifier: BSD-3-Clause
// Reads SLUICE_EMU_* from the environment.
#include "runtime/knobs.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "machine_words.h"
#include "runtime/error.h"

namespace emurt {
namespace {

constexpr uint64_t kMostDevices = 16;
constexpr uint64_t kMostMemoryBytes = uint64_t{1} << 46;
constexpr uint64_t kMostRanges = 65536;

std::string_view text_of(const char *name) {
  const char *text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): once, at the runtime's start
  return text != nullptr ? text : "";
}

// A whole number from 0 to `most`.
template <typename Number>
bool read_number(std::string_view text, uint64_t most, Number *value) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) return false;
  *value = static_cast<Number>(number);
  return true;
}

bool read_word(std::string_view name, std::string_view value, Knobs *knobs) {
  if (name == "devices") return read_number(value, kMostDevices, &knobs->n_devices);
  if (name == "memory_bytes") return read_number(value, kMostMemoryBytes, &knobs->memory_bytes);
  if (name == "reuse_addresses") return read_number(value, 1, &knobs->reuse_addresses);
  if (name == "quarantine_ranges") return read_number(value, kMostRanges, &knobs->quarantine_ranges);
  if (name == "profile") knobs->profile = value;
  if (name == "link_file") knobs->link_file = value;
  return name == "profile" || name == "link_file" || name == "plays";
}

}  // namespace

emu_result_t read_knobs(Knobs *knobs) {
  knobs->fault = text_of("SLUICE_EMU_FAULT");
  std::string_view machine = text_of("SLUICE_EMU_MACHINE");
  while (!machine.empty()) {
    const std::string_view word = next_word(&machine, ',');
    const size_t equals = word.find('=');
    if (equals != std::string_view::npos && read_word(word.substr(0, equals), word.substr(equals + 1), knobs)) continue;
    return fail(EMU_ERROR_CONFIGURATION,
                "SLUICE_EMU_MACHINE: \"{}\" is no word of it; allowed are devices=0..16, profile=, link_file=, "
                "memory_bytes=0..2^46, reuse_addresses=0|1, quarantine_ranges=0..65536 and plays=, with commas between",
                word);
  }
  return EMU_SUCCESS;
}

}  // namespace emurt
