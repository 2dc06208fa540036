// SPDX-License-Identifier: BSD-3-Clause
// A stream of the program's, as this module opened it.
#pragma once

#include <vector>

#include "module.h"
#include "sluice/stream_message.h"

struct sluice_stream {
  emu_queue_t *queue = nullptr;
  // Of messages of graphs: the capture that there were some in last, and what the next join is to add to that graph.
  uint64_t captured_in = 0;
  std::vector<sluice_captured_t> captured_receives;
};
