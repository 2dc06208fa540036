// SPDX-License-Identifier: BSD-3-Clause
// Reads SLUICE_EMU_* from the environment.
#include "runtime/knobs.h"

#include <cstdlib>

#include "../../knob_range.h"

namespace emurt {
namespace {

enum KnobIndex {
#define EMU_KNOB(name, default_value, range, doc) kKnob_##name,
#include "knobs.def"
#undef EMU_KNOB
};

std::string text_of(KnobIndex index) {
  static constexpr sluice::backends::Knob kKnobs[] = {
#define EMU_KNOB(name, default_value, range, doc) {"SLUICE_EMU_" #name, default_value, range},
#include "knobs.def"
#undef EMU_KNOB
  };
  const sluice::backends::Knob &knob = kKnobs[index];
  const std::string name(knob.name);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): once, at the runtime's start
  return std::string(sluice::backends::in_force(knob, std::getenv(name.c_str())));
}

// What is in force is a number within its range.
uint64_t number_of(KnobIndex index) {
  return std::strtoull(text_of(index).c_str(), nullptr, 10);
}

}  // namespace

Knobs read_knobs() {
  Knobs knobs;
  knobs.n_devices = static_cast<int32_t>(number_of(kKnob_DEVICES));
  knobs.memory_bytes = number_of(kKnob_MEMORY_BYTES);
  knobs.reuse_addresses = number_of(kKnob_REUSE_ADDRESSES) != 0;
  knobs.quarantine_ranges = number_of(kKnob_QUARANTINE_RANGES);
  knobs.quarantine_bytes = number_of(kKnob_QUARANTINE_BYTES);
  knobs.seed = number_of(kKnob_SEED);
  knobs.profile = text_of(kKnob_PROFILE);
  knobs.link_file = text_of(kKnob_LINK_FILE);
  knobs.fault = text_of(kKnob_FAULT);
  return knobs;
}

}  // namespace emurt
