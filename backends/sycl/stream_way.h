// SPDX-License-Identifier: BSD-3-Clause
// How a queue of the program's writes words and waits for them: differs with the runtime underneath (docs/adr/0040).
#pragma once

#include <memory>

#include "../outcome.h"
#include "module.h"

namespace sluice::backends::sycl {

// One thread at a time. Words are memory of host_alloc, or of host_register. Functions may throw what the runtime
// throws; on any error nothing was enqueued.
class StreamWay {
 public:
  virtual ~StreamWay() = default;
  // As stream_write and stream_wait of the contract.
  virtual Outcome write(uint64_t *word, uint64_t value) = 0;
  virtual Outcome wait(const uint64_t *word, uint64_t least) = 0;
};

// Writes are a fill of 8 bytes, waits a barrier on an event that the watcher completes. SLUICE_ERROR_UNSUPPORTED where
// the runtime underneath has no such events.
Outcome open_event_way(const ::sycl::queue &queue, std::unique_ptr<StreamWay> *way);
// The stream memory operations of NVIDIA's driver on the queue's own stream. SLUICE_ERROR_UNSUPPORTED elsewhere, and on
// devices without them.
Outcome open_driver_way(const ::sycl::queue &queue, std::unique_ptr<StreamWay> *way);

}  // namespace sluice::backends::sycl
