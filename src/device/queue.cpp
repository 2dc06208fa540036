// SPDX-License-Identifier: BSD-3-Clause
#include "device/queue.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/short_mutex.hpp"
#include "device/numa.hpp"

namespace sluice::device {
namespace {

// A queue that is not in use. Queues are few (as many as copied at the same moment), so a list will do.
struct IdleQueue {
  const Backend *backend;
  std::int32_t device;
  sluice_queue_t *queue;
};

ShortMutex mutex;
std::vector<IdleQueue> &idle_queues() {
  static auto *queues = new std::vector<IdleQueue>();
  return *queues;
}

void destroy(const IdleQueue &idle) noexcept {
  const Status status = idle.backend->check(idle.backend->table().queue_destroy(idle.queue), "destroy a queue");
  if (!status.is_ok()) log::warn_once("queue_destroy", "device", status.message());
}

}  // namespace

Queue::Queue(Queue &&other) noexcept
    : backend_(other.backend_), device_(other.device_), queue_(std::exchange(other.queue_, nullptr)) {}

Queue &Queue::operator=(Queue &&other) noexcept {
  if (this == &other) return *this;
  release();
  backend_ = other.backend_;
  device_ = other.device_;
  queue_ = std::exchange(other.queue_, nullptr);
  return *this;
}

Status Queue::acquire(const Place &place) {
  release();
  backend_ = place.backend;
  device_ = place.device_index();
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
  // The first use of a device, or one of few more: a good moment to look where this rank runs.
  warn_if_far(*backend_, device_);
  return backend_->check(backend_->table().queue_create(device_, &queue_), "create a queue");
}

Status Queue::enqueue(std::span<const sluice_copy_t> pieces) {
  const sluice_result_t result = backend_->table().enqueue_copies(queue_, pieces.data(), pieces.size());
  if (result == SLUICE_SUCCESS) return {};
  Status status = backend_->check(result, "begin a copy");
  discard();
  return status;
}

Status Queue::enqueue_wait_for(const Queue &other) {
  if (queue_ == nullptr || other.queue_ == nullptr) {
    return Status::error(ErrorKind::kBackend,
                         "a queue to be put behind another was given up after an error; see that error");
  }
  const sluice_result_t result = backend_->table().enqueue_wait_for_queue(queue_, other.queue_);
  if (result == SLUICE_SUCCESS) return {};
  Status status = backend_->check(result, "put a queue behind another");
  discard();
  return status;
}

Status Queue::wait(std::string_view what) {
  const sluice_backend_t &table = backend_->table();
  std::uint64_t ticket = 0;
  sluice_result_t result = table.enqueue_ticket(queue_, &ticket);
  if (result == SLUICE_SUCCESS) result = table.wait_ticket(queue_, ticket);
  if (result == SLUICE_SUCCESS) return {};
  Status status = backend_->check(result, what);
  discard();
  return status;
}

void Queue::discard() noexcept {
  if (queue_ == nullptr) return;
  destroy({backend_, device_, queue_});
  queue_ = nullptr;
}

void Queue::release() noexcept {
  if (queue_ == nullptr) return;
  try {
    const std::scoped_lock lock(mutex);
    idle_queues().push_back({backend_, device_, queue_});
  } catch (...) {
    destroy({backend_, device_, queue_});
  }
  queue_ = nullptr;
}

PendingCopy::PendingCopy(PendingCopy &&other) noexcept
    : queue_(std::exchange(other.queue_, nullptr)), ticket_(other.ticket_) {}

PendingCopy &PendingCopy::operator=(PendingCopy &&other) noexcept {
  std::swap(queue_, other.queue_);
  std::swap(ticket_, other.ticket_);
  return *this;
}

PendingCopy::~PendingCopy() {
  if (queue_ == nullptr || queue_->is_empty()) return;
  const sluice_result_t result = queue_->backend().table().wait_ticket(queue_->get(), ticket_);
  if (result != SLUICE_SUCCESS) queue_->discard();
}

Status PendingCopy::begin(Queue *queue, std::span<const sluice_copy_t> pieces) {
  Status status = queue->enqueue(pieces);
  return status.is_ok() ? begin(queue) : status;
}

Status PendingCopy::begin(Queue *queue) {
  const sluice_result_t result = queue->backend().table().enqueue_ticket(queue->get(), &ticket_);
  if (result == SLUICE_SUCCESS) {
    queue_ = queue;
    return {};
  }
  Status status = queue->backend().check(result, "begin a copy");
  queue->discard();
  return status;
}

Status PendingCopy::poll(bool *is_done) {
  *is_done = true;
  if (queue_ == nullptr) return {};
  if (queue_->is_empty()) {  // given up after another copy's error, which waits for all
    queue_ = nullptr;
    return Status::error(ErrorKind::kBackend, "a copy before this one failed; its own error says why");
  }
  const sluice_result_t result = queue_->backend().table().test_ticket(queue_->get(), ticket_);
  if (result == SLUICE_NOT_READY) {
    *is_done = false;
    return {};
  }
  return end(result, "copy");
}

Status PendingCopy::wait(std::string_view what) {
  // Backends enqueue a mark where they have to wait, so what has ended already is not waited for.
  bool is_done = false;
  Status polled = poll(&is_done);
  if (is_done) return polled;
  return end(queue_->backend().table().wait_ticket(queue_->get(), ticket_), what);
}

Status PendingCopy::end(sluice_result_t result, std::string_view what) {
  Queue *queue = std::exchange(queue_, nullptr);
  if (result == SLUICE_SUCCESS) return {};
  Status status = queue->backend().check(result, what);
  queue->discard();
  return status;
}

void release_queues() noexcept {
  const std::scoped_lock lock(mutex);
  for (const IdleQueue &idle : idle_queues()) destroy(idle);
  idle_queues().clear();
}

}  // namespace sluice::device
