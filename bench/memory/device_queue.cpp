// SPDX-License-Identifier: BSD-3-Clause
// A queue of the selected device.
#include "bench/memory/device_queue.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace sluice::bench {

DeviceQueue::DeviceQueue(DeviceModule &module) : module_(module) {
  module_.require(module_.table().queue_create(module_.device(), &queue_), "creation of a queue");
}

DeviceQueue::~DeviceQueue() {
  if (module_.table().queue_destroy(queue_) != SLUICE_SUCCESS) {
    fmt::print(stderr, "sluice-bench: a queue could not be destroyed: {}\n", module_.table().last_error());
  }
}

void DeviceQueue::enqueue(std::span<const sluice_copy_t> copies) {
  module_.require(module_.table().enqueue_copies(queue_, copies.data(), copies.size()), "enqueueing of copies");
}

void DeviceQueue::wait() {
  std::uint64_t ticket = 0;
  module_.require(module_.table().enqueue_ticket(queue_, &ticket), "enqueueing of a ticket");
  module_.require(module_.table().wait_ticket(queue_, ticket), "wait for queued copies");
}

}  // namespace sluice::bench
