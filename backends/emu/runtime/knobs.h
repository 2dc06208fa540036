// SPDX-License-Identifier: BSD-3-Clause
// The one place of the runtime that reads the environment: SLUICE_EMU_* into checked values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emurt.h"

namespace emurt {

// Freed address space that is kept out of use.
inline constexpr size_t kQuarantineBytes = size_t{256} << 20;
// Of random delays, orders and flipped bytes.
inline constexpr uint64_t kSeed = 1;

struct Knobs {
  int32_t n_devices = 2;
  std::string profile;
  std::string link_file;
  std::string fault;
  uint64_t memory_bytes = 0;  // 0: not set
  bool reuse_addresses = false;
  size_t quarantine_ranges = 64;
};

// Reads all knobs (knobs.def). EMU_ERROR_CONFIGURATION for a word of SLUICE_EMU_MACHINE that is none, or out of its
// range. Not safe against a concurrent setenv, as getenv is not.
emu_result_t read_knobs(Knobs *knobs);

}  // namespace emurt
