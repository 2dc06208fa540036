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

void DeviceQueue::enqueue(const sluice_reduction_t &reduction) {
  const auto enqueue_reduction = module_.table().enqueue_reduction;
  if (enqueue_reduction == nullptr) throw DeviceError("this backend does not reduce on the device (group `reduce`)");
  module_.require(enqueue_reduction(queue_, &reduction), "enqueueing of a reduction");
}

bool DeviceQueue::try_enqueue(const sluice_pack_t &pack) {
  const sluice_result_t result = module_.table().enqueue_pack(queue_, &pack);
  if (result == SLUICE_ERROR_UNSUPPORTED) return false;
  module_.require(result, "enqueueing of a packing kernel");
  return true;
}

void DeviceQueue::wait() {
  std::uint64_t ticket = 0;
  module_.require(module_.table().enqueue_ticket(queue_, &ticket), "enqueueing of a ticket");
  module_.require(module_.table().wait_ticket(queue_, ticket), "wait for queued copies");
}

void DeviceQueue::copy(void *dst, const void *src, std::uint64_t size_bytes) {
  module_.require(module_.table().copy(queue_, dst, src, size_bytes), "copy in a queue");
}

}  // namespace sluice::bench
