// SPDX-License-Identifier: BSD-3-Clause
// Outcome: how a call of code that several backends share went. Each backend keeps error texts in a place of its own.
#pragma once

#include <string>

#include "sluice/backend.h"

namespace sluice::backends {

struct Outcome {
  sluice_result_t result = SLUICE_SUCCESS;
  std::string text;  // what happened and the remedy; empty after success

  bool is_success() const { return result == SLUICE_SUCCESS; }
};

}  // namespace sluice::backends
