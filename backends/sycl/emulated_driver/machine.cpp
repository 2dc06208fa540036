// SPDX-License-Identifier: BSD-3-Clause
// Which devices there are, and which of them the program sees: by the words of SLUICE_EMU_LEVEL_ZERO, and by the two
// variables that Intel's driver reads, ZE_FLAT_DEVICE_HIERARCHY and ZE_AFFINITY_MASK.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <span>
#include <string_view>

#include "driver.h"
#include "faults.h"

namespace sluice::emulated_driver {
namespace {

std::string_view variable(const char *name) noexcept {
  const char *text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): once, at the start
  return text != nullptr ? text : "";
}

// Hands the words of a list with commas to take(word) -> bool; stops at the first that it does not take.
template <typename Take>
bool each_word(std::string_view list, const Take &take) {
  while (!list.empty()) {
    const std::size_t end = list.find(',');
    if (!take(list.substr(0, end))) return false;
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
  }
  return true;
}

bool take_word(std::string_view word, Machine *machine) {
  constexpr std::string_view kFail = "fail=";
  constexpr std::string_view kTrace = "trace=";
  if (word.starts_with(kFail)) return set_fault(word.substr(kFail.size()));
  if (word.starts_with(kTrace)) {
    machine->trace = word.substr(kTrace.size());
    return !machine->trace.empty();
  }
  if (word == "tiles=2") {
    machine->n_tiles = 2;
  } else if (word == "integrated") {
    machine->is_integrated = true;
  } else if (word == "system") {
    machine->reads_system_memory = true;
  } else if (word == "opens_half") {
    machine->opens_half = true;
  } else {
    return false;
  }
  return true;
}

bool read_number(std::string_view text, int32_t n, int32_t *number) noexcept {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stop == text.data() + text.size() && *number >= 0 && *number < n;
}

// One word of the mask: the number of a device, or device.tile; where tiles are devices, the number of a tile. What is
// not there is passed over.
struct Masked {
  bool is_whole[Machine::kMostDevices] = {};
  bool has_tile[Machine::kMostDevices][Machine::kMostTiles] = {};

  bool take(std::string_view word, const Machine &machine) noexcept {
    const bool tiles_are_devices = machine.lists_tiles();
    const int32_t n = machine.n_devices * (tiles_are_devices ? machine.n_tiles : 1);
    const std::size_t dot = tiles_are_devices ? std::string_view::npos : word.find('.');
    int32_t number = 0;
    int32_t tile = 0;
    if (!read_number(word.substr(0, dot), n, &number)) return true;
    if (tiles_are_devices) {
      has_tile[number / machine.n_tiles][number % machine.n_tiles] = true;
    } else if (dot == std::string_view::npos) {
      is_whole[number] = true;
    } else if (read_number(word.substr(dot + 1), machine.n_tiles, &tile)) {
      has_tile[number][tile] = true;
    }
    return true;
  }
};

void list_devices(std::string_view mask, Machine *machine) noexcept {
  Masked masked;
  each_word(mask, [&](std::string_view word) { return masked.take(word, *machine); });
  for (int32_t i = 0; i < machine->n_devices; ++i) {
    int32_t n_tiles = 0;
    for (int32_t k = 0; k < machine->n_tiles; ++k) n_tiles += masked.has_tile[i][k] ? 1 : 0;
    const bool is_all = mask.empty() || masked.is_whole[i] || n_tiles == machine->n_tiles;
    if (is_all && !machine->lists_tiles()) {
      machine->listed[machine->n_listed++] = &machine->devices[i];
      continue;
    }
    for (int32_t k = 0; k < machine->n_tiles; ++k) {
      if (is_all || masked.has_tile[i][k]) machine->listed[machine->n_listed++] = &machine->tiles[i][k];
    }
  }
}

Machine *make_machine() {
  static Machine made;
  if (emu_device_count(&made.n_devices) != EMU_SUCCESS || made.n_devices > Machine::kMostDevices) return nullptr;
  const auto take = [](std::string_view word) { return take_word(word, &made); };
  if (!each_word(variable("SLUICE_EMU_LEVEL_ZERO"), take)) return nullptr;
  const std::string_view hierarchy = variable("ZE_FLAT_DEVICE_HIERARCHY");
  if (hierarchy == "FLAT") made.hierarchy = Hierarchy::kFlat;
  if (hierarchy == "COMBINED") made.hierarchy = Hierarchy::kCombined;
  for (int32_t i = 0; i < made.n_devices; ++i) {
    made.devices[i] = {i, -1};
    for (int32_t k = 0; k < Machine::kMostTiles; ++k) made.tiles[i][k] = {i, k};
  }
  list_devices(variable("ZE_AFFINITY_MASK"), &made);
  return &made;
}

}  // namespace

Machine *machine() {
  static Machine *const made = make_machine();
  return made;
}

Device *root_of(const Device &device) noexcept {
  const std::span listed(machine()->listed, static_cast<std::size_t>(machine()->n_listed));
  const bool is_listed = std::ranges::find(listed, &device) != listed.end();
  const bool is_alone = is_listed && machine()->hierarchy != Hierarchy::kCombined;
  return device.tile < 0 || is_alone ? nullptr : &machine()->devices[device.index];
}

}  // namespace sluice::emulated_driver
