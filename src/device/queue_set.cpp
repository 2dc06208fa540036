// SPDX-License-Identifier: BSD-3-Clause
#include "device/queue_set.hpp"

#include <algorithm>

namespace sluice::device {

Status QueueSet::acquire(const Place &place, std::size_t n_queues) {
  lanes_ = std::vector<Lane>(n_queues);
  for (Lane &lane : lanes_) {
    if (Status status = lane.queue.acquire(place); !status.is_ok()) return status;
  }
  return {};
}

Status QueueSet::enqueue(std::span<const sluice_copy_t> copies) {
  if (lanes_.size() == 1) return lanes_.front().queue.enqueue(copies);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (Status status = lanes_[i % lanes_.size()].queue.enqueue(copies.subspan(i, 1)); !status.is_ok()) return status;
  }
  return {};
}

Status QueueSet::enqueue_wait_for(const Queue &other) {
  for (Lane &lane : lanes_) {
    if (Status status = lane.queue.enqueue_wait_for(other); !status.is_ok()) return status;
  }
  return {};
}

Status QueueSet::hold_back(Queue *other) const {
  for (const Lane &lane : lanes_) {
    if (Status status = other->enqueue_wait_for(lane.queue); !status.is_ok()) return status;
  }
  return {};
}

Status QueueSet::begin() {
  for (Lane &lane : lanes_) {
    if (Status status = lane.end.begin(&lane.queue); !status.is_ok()) return status;
  }
  return {};
}

Status QueueSet::poll(bool *is_done) {
  *is_done = true;
  for (Lane &lane : lanes_) {
    bool has_ended = true;
    if (Status status = lane.end.poll(&has_ended); !status.is_ok()) return status;
    *is_done = *is_done && has_ended;
  }
  return {};
}

bool QueueSet::is_running() const noexcept {
  return std::ranges::any_of(lanes_, [](const Lane &lane) { return lane.end.is_running(); });
}

void QueueSet::discard() noexcept {
  for (Lane &lane : lanes_) lane.queue.discard();
}

}  // namespace sluice::device
