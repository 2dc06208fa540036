// SPDX-License-Identifier: BSD-3-Clause
// The one place of the runtime that reads the environment: SLUICE_EMU_* into checked values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emurt.h"

namespace emurt {

struct Knobs {
  int32_t n_devices = 2;
  std::string profile;
  std::string link_file;
  std::string fault;
  uint64_t memory_bytes = 0;  // 0: not set
  bool reuse_addresses = false;
  size_t quarantine_ranges = 64;
  size_t quarantine_bytes = 0;
  uint64_t seed = 1;
};

// Reads all knobs; unset ones, and those with a value out of their range, have the defaults of knobs.def.
// Not safe against a concurrent setenv, as getenv is not.
Knobs read_knobs();

}  // namespace emurt
