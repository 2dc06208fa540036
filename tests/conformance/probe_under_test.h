// SPDX-License-Identifier: BSD-3-Clause
// What the module under test has for benchmarks.
#pragma once

#include "sluice/testing/probe.h"

namespace conformance {

// The loaded module's table; null: it has none.
const sluice_probe_t *probe();

}  // namespace conformance
