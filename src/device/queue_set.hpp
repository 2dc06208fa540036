// SPDX-License-Identifier: BSD-3-Clause
// QueueSet: queues of one device over which copies are spread, so that they run at the same time: one queue makes them
// one behind the other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "device/place.hpp"
#include "device/queue.hpp"

namespace sluice::device {

// One thread at a time. Not movable once copies have begun. When destroyed, waits for what has an end to wait for.
class QueueSet {
 public:
  // Takes `n_queues`, 1 at least. Errors: the runtime gives none. May throw std::bad_alloc, as nothing after it does.
  [[nodiscard]] Status acquire(const Place &place, std::size_t n_queues);

  // Deals the copies out, one to each queue in turns; by one queue, all in one command. The rest as Queue has it.
  [[nodiscard]] Status enqueue(std::span<const sluice_copy_t> copies);
  // What is enqueued here later waits for all that was enqueued on `other` so far; and the other way round.
  [[nodiscard]] Status enqueue_wait_for(const Queue &other);
  [[nodiscard]] Status hold_back(Queue *other) const;

  // From here on there is an end to ask for, that of all that was enqueued; never blocks.
  [[nodiscard]] Status begin();
  [[nodiscard]] Status poll(bool *is_done);
  [[nodiscard]] bool is_running() const noexcept;

  // Gives all of them up; waits for what they hold.
  void discard() noexcept;

 private:
  struct Lane {
    Queue queue;  // outlives the end
    PendingCopy end;
  };
  std::vector<Lane> lanes_;
};

}  // namespace sluice::device
