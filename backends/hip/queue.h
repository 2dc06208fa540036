// SPDX-License-Identifier: BSD-3-Clause
// A queue of Sluice's: one stream of the runtime, and the events behind its tickets.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "module.h"

struct sluice_queue {
  int32_t device = 0;
  hipStream_t stream = nullptr;

  // Tickets that are not done yet, oldest first. Tickets are numbered from 1; all below the oldest are done.
  struct Mark {
    uint64_t ticket;
    hipEvent_t event;
  };
  std::deque<Mark> marks;
  std::vector<hipEvent_t> spare_events;
  hipEvent_t order = nullptr;  // marks what other queues wait for; null until the first does
  uint64_t last_ticket = 0;

  // The first error of a command; every later call of the queue answers with it.
  sluice_result_t failure = SLUICE_SUCCESS;
  std::string failure_text;
};

namespace sluice::backends::hip {

// The queue's failure as the answer of a call, or success.
sluice_result_t failure_of(const sluice_queue &queue);

}  // namespace sluice::backends::hip
