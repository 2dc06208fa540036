// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a new window tell each other: where each has its memory, and by what locks those of a node share
// it. Threads: the one that makes the window, before others know of it.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "ops/rma/window.hpp"

namespace sluice::ops::rma {

// Fills `exposures`, `locks` and `is_near` of *window, which has its communicator and this rank's memory, from what all
// ranks say. `disp_unit` is the program's, in bytes, not looked at yet. Memory that cannot be exported is reached by
// messages, and so are all ranks of a node without locks; each is said once. Collective; blocks, in turns. Errors: the
// host MPI's, and a rank that says what memory cannot be.
[[nodiscard]] Status exchange_exposures(std::int64_t disp_unit, Window *window);

}  // namespace sluice::ops::rma
