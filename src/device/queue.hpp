// SPDX-License-Identifier: BSD-3-Clause
// Queue: one of Sluice's own command queues, leased for a copy or for a row of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "device/place.hpp"
#include "sluice/backend.h"

namespace sluice::device {

// A queue on the device of a place; idle queues are kept and used again. Movable. One thread at a time. Given back when
// destroyed; what was enqueued must be done by then.
class Queue {
 public:
  Queue() noexcept = default;
  Queue(Queue &&other) noexcept;
  Queue &operator=(Queue &&other) noexcept;
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;
  ~Queue() { release(); }

  // Takes an idle queue, or makes one; what it held before is idle then. `place` has a backend. Any thread. Errors: the
  // runtime makes none, and this is empty. Setup cost where one is made.
  [[nodiscard]] Status acquire(const Place &place);
  // Empty at first, and after an error that gave the queue up; then the others mean nothing.
  [[nodiscard]] bool is_empty() const noexcept { return queue_ == nullptr; }
  [[nodiscard]] const Backend &backend() const noexcept { return *backend_; }
  [[nodiscard]] std::int32_t device() const noexcept { return device_; }
  [[nodiscard]] sluice_queue_t *get() const noexcept { return queue_; }

  // Enqueues copies that a later PendingCopy on this queue has the end of too, and returns before they are done.
  // Errors: those of the runtime; the queue is given up then, with what it held done.
  [[nodiscard]] Status enqueue(std::span<const sluice_copy_t> pieces);

  // What is enqueued here later waits, on the device, until all that was enqueued on `other` so far has ended, and
  // finds what that wrote; `other` has its own tickets for its own errors. Both are queues of one device, whose backend
  // has enqueue_wait_for_queue. Returns before. Errors: as enqueue().
  [[nodiscard]] Status enqueue_wait_for(const Queue &other);

  // Waits for all that was enqueued; `what` it was, for the text of an error. Errors: those of the runtime; the queue
  // is given up then.
  [[nodiscard]] Status wait(std::string_view what);

  // After a failed copy the queue's state is unknown: it is given up rather than used again. Waits for what it holds.
  void discard() noexcept;

 private:
  void release() noexcept;

  const Backend *backend_ = nullptr;
  std::int32_t device_ = 0;
  sluice_queue_t *queue_ = nullptr;
};

// Copies that run on their own: begun, asked after, done. One thread at a time. When destroyed before they are done,
// waits.
class PendingCopy {
 public:
  PendingCopy() noexcept = default;
  PendingCopy(PendingCopy &&other) noexcept;
  PendingCopy &operator=(PendingCopy &&other) noexcept;
  PendingCopy(const PendingCopy &) = delete;
  PendingCopy &operator=(const PendingCopy &) = delete;
  ~PendingCopy();

  // Enqueues `pieces` on `queue`, which outlives this. Sources and destinations stay valid until poll() says done.
  // Errors: as Queue::enqueue(), and nothing is running.
  [[nodiscard]] Status begin(Queue *queue, std::span<const sluice_copy_t> pieces);
  // The same for what was enqueued on `queue` before, whatever it is. Errors: those of the runtime; the queue is given
  // up then, and nothing is running.
  [[nodiscard]] Status begin(Queue *queue);
  [[nodiscard]] bool is_running() const noexcept { return queue_ != nullptr; }
  // Sets *is_done when the copies have ended, well or not; never blocks. Errors: that of a copy, and the queue is given
  // up then; kBackend: it was given up before. Hot.
  [[nodiscard]] Status poll(bool *is_done);
  // Returns when they have ended, and not later: Queue::wait() marks the end of the queue, and a mark waits in the
  // device's copy engine behind the copies of other queues. Blocks. Errors: as poll(), with `what` in the text.
  [[nodiscard]] Status wait(std::string_view what);

 private:
  // The copies have ended with `result`: nothing is running any more.
  [[nodiscard]] Status end(sluice_result_t result, std::string_view what);

  Queue *queue_ = nullptr;  // null: nothing is running
  std::uint64_t ticket_ = 0;
};

// Destroys the idle queues. Before the backends are shut down, and in tests. One thread.
void release_queues() noexcept;

}  // namespace sluice::device
