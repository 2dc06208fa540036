// SPDX-License-Identifier: BSD-3-Clause
// Events that a queue of the runtime waits for and that the host completes: the runtime's own way to hold a queue back
// without a kernel that spins or a host function that blocks. What they are made of is of the runtime underneath.
#pragma once

#include <memory>

#include "../outcome.h"
#include "module.h"

namespace sluice::backends::sycl {

// Destroyed when the barriers that name it are done.
class HostEvent {
 public:
  virtual ~HostEvent() = default;
  // What a barrier of the queue names. Throws what the runtime throws.
  virtual ::sycl::event event() const = 0;
  // Once, any thread: what stands behind the barrier goes on, and finds what this thread saw before.
  virtual Outcome complete() = 0;
};

// What makes them for the queues of one context. One thread at a time.
class HostEvents {
 public:
  virtual ~HostEvents() = default;
  virtual Outcome make(std::shared_ptr<HostEvent> *event) = 0;
};

// User events of OpenCL. SLUICE_ERROR_UNSUPPORTED where its loader is not to be found.
Outcome open_opencl_events(const ::sycl::context &context, std::unique_ptr<HostEvents> *events);
// Level Zero's events that the host sees. SLUICE_ERROR_UNSUPPORTED where its loader lacks them. Run on the
// emulated GPU only.
Outcome open_level_zero_events(const ::sycl::context &context, std::unique_ptr<HostEvents> *events);

}  // namespace sluice::backends::sycl
