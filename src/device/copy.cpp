// SPDX-License-Identifier: BSD-3-Clause
#include "device/copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/log.hpp"

namespace sluice::device {
namespace {

// A queue that is not in use. Queues are few (as many as threads that copied at the same moment), so a list will do.
struct IdleQueue {
  const Backend *backend;
  std::int32_t device;
  sluice_queue_t *queue;
};

std::mutex mutex;
std::vector<IdleQueue> &idle_queues() {
  static auto *queues = new std::vector<IdleQueue>();
  return *queues;
}

// A queue for the length of one copy.
class QueueLease {
 public:
  explicit QueueLease(const Place &place) : backend_(place.backend), device_(std::max(place.device, 0)) {}
  QueueLease(const QueueLease &) = delete;
  QueueLease &operator=(const QueueLease &) = delete;
  QueueLease(QueueLease &&) = delete;
  QueueLease &operator=(QueueLease &&) = delete;

  ~QueueLease() {
    if (queue_ == nullptr) return;
    try {
      const std::scoped_lock lock(mutex);
      idle_queues().push_back({backend_, device_, queue_});
    } catch (...) {
      destroy({backend_, device_, queue_});
    }
  }

  [[nodiscard]] Status acquire() {
    {
      const std::scoped_lock lock(mutex);
      auto &queues = idle_queues();
      const auto found = std::find_if(queues.rbegin(), queues.rend(), [&](const IdleQueue &idle) {
        return idle.backend == backend_ && idle.device == device_;
      });
      if (found != queues.rend()) {
        queue_ = found->queue;
        queues.erase(std::next(found).base());
        return {};
      }
    }
    return backend_->check(backend_->table().queue_create(device_, &queue_), "create a queue");
  }

  // After a failed copy the queue's state is unknown: it is given up rather than used again.
  void discard() noexcept {
    destroy({backend_, device_, queue_});
    queue_ = nullptr;
  }

  [[nodiscard]] sluice_queue_t *get() const noexcept { return queue_; }

  static void destroy(const IdleQueue &idle) noexcept {
    const Status status = idle.backend->check(idle.backend->table().queue_destroy(idle.queue), "destroy a queue");
    if (!status.is_ok()) log::warn_once("queue_destroy", "device", status.message());
  }

 private:
  const Backend *backend_;
  std::int32_t device_;
  sluice_queue_t *queue_ = nullptr;
};

}  // namespace

Status copy(const Place &place, void *dst, const void *src, std::size_t size_bytes) {
  if (size_bytes == 0) return {};
  QueueLease queue(place);
  if (Status status = queue.acquire(); !status.is_ok()) return status;
  const sluice_result_t result = place.backend->table().copy(queue.get(), dst, src, size_bytes);
  if (result == SLUICE_SUCCESS) return {};
  Status status = place.backend->check(result, fmt::format("copy {} bytes", size_bytes));
  queue.discard();
  return status;
}

Status copy(const Place &place, std::span<const sluice_copy_t> pieces) {
  if (pieces.empty()) return {};
  if (pieces.size() == 1) return copy(place, pieces[0].dst, pieces[0].src, pieces[0].size_bytes);
  QueueLease queue(place);
  if (Status status = queue.acquire(); !status.is_ok()) return status;
  const sluice_backend_t &table = place.backend->table();
  std::uint64_t ticket = 0;
  sluice_result_t result = table.enqueue_copies(queue.get(), pieces.data(), pieces.size());
  if (result == SLUICE_SUCCESS) result = table.enqueue_ticket(queue.get(), &ticket);
  if (result == SLUICE_SUCCESS) result = table.wait_ticket(queue.get(), ticket);
  if (result == SLUICE_SUCCESS) return {};
  Status status = place.backend->check(result, fmt::format("copy {} pieces", pieces.size()));
  queue.discard();
  return status;
}

void release_queues() noexcept {
  const std::scoped_lock lock(mutex);
  for (const IdleQueue &idle : idle_queues()) QueueLease::destroy(idle);
  idle_queues().clear();
}

}  // namespace sluice::device
