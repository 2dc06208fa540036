// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Create_queue, MPIX_Enqueue_send, MPIX_Enqueue_recv, MPIX_Enqueue_start, MPIX_Enqueue_wait, MPIX_Free_queue.
#include "ops/queue/queues.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "ops/env/errors.hpp"
#include "ops/env/world.hpp"
#include "ops/queue/batch_queue.hpp"
#include "ops/queue/engine_exchange.hpp"
#include "ops/queue/shown_arguments.hpp"
#include "wire/host.hpp"

namespace sluice::ops::queue {
namespace {

using QueuePtr = std::shared_ptr<BatchQueue>;

// By the number in the handle, which is never used again.
struct Table {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, QueuePtr> queues;
  std::uintptr_t last_number = 0;
  std::vector<std::weak_ptr<BatchQueue>> unnamed;  // without a handle
};

Table &table() {
  static auto *made = new Table();
  return *made;
}

std::uintptr_t number_of(MPIX_Queue queue) noexcept {
  return reinterpret_cast<std::uintptr_t>(queue);
}

QueuePtr find(MPIX_Queue queue) {
  const std::scoped_lock lock(table().mutex);
  const auto found = table().queues.find(number_of(queue));
  return found != table().queues.end() ? found->second : nullptr;
}

Status unknown_queue(MPIX_Queue queue) {
  if (queue == MPIX_QUEUE_NULL) {
    return Status::error(ErrorKind::kInvalidArgument, "the queue is MPIX_QUEUE_NULL; make one with MPIX_Create_queue");
  }
  const std::scoped_lock lock(table().mutex);
  if (number_of(queue) <= table().last_number) return BatchQueue::was_freed();
  return Status::error(ErrorKind::kInvalidArgument, "this is no queue; give what MPIX_Create_queue wrote");
}

// Runs `body`, a call for `handle`, on its queue. Errors go to the communicator that the call has said, else to the
// queue's.
template <typename Body>
int on_queue(MPIX_Queue handle, std::optional<MPI_Comm> said, Body body) {
  int code = MPI_SUCCESS;
  if (!is_usable("queues", &code)) return code;
  MPI_Comm raised_on = said && *said != MPI_COMM_NULL ? *said : MPI_COMM_SELF;
  return guarded(raised_on, [&]() -> int {
    const QueuePtr queue = find(handle);
    if (queue == nullptr) return raise(raised_on, unknown_queue(handle));
    if (!said && queue->comm() != MPI_COMM_NULL) raised_on = queue->comm();
    const Status status = body(queue.get());
    return status.is_ok() ? MPI_SUCCESS : raise(raised_on, status);
  });
}

Status null_request() {
  return Status::error(ErrorKind::kInvalidArgument,
                       "the pointer to the request is null; give the address of an MPI_Request");
}

// The same for a one-sided operation, with the window of Sluice's.
template <typename Body>
int on_window(MPI_Win window, MPIX_Queue handle, const MPI_Request *request, Body body) {
  return on_queue(handle, std::nullopt, [&](BatchQueue *queue) -> Status {
    if (request == nullptr) return null_request();
    const rma::WindowPtr own = rma::find_own(window);
    if (own != nullptr) return body(queue, own);
    return Status::error(ErrorKind::kInvalidArgument,
                         "queues put, get and signal on windows of which a rank has device memory, and this is none "
                         "(or was freed); give such a window, or use MPI_Put and MPI_Get");
  });
}

Status check_arguments(const BatchQueue &queue, const Arguments &given, const MPI_Request *request) {
  if (request == nullptr) return null_request();
  if (given.comm == MPI_COMM_NULL) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "the message has no communicator: it is MPI_COMM_NULL, or the queue was made without one "
                         "(SLUICE_QUEUE_VENDOR_FORM) and the message is enqueued in the other form; make the queue "
                         "with a communicator (MPIX_Create_queue)");
  }
  // The engine was chosen for the queue's.
  if (queue.comm() != MPI_COMM_NULL && given.comm != queue.comm()) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "the message brings another communicator than the queue was made with; make a queue without "
                         "one for it (sluice_queue_create)");
  }
  if (!given.is_send && (given.peer == MPI_ANY_SOURCE || given.tag == MPI_ANY_TAG)) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "MPIX_Enqueue_recv takes no MPI_ANY_SOURCE and no MPI_ANY_TAG; name them, or use MPI_Irecv");
  }
  return {};
}

int enqueue(Arguments given, bool has_comm, MPIX_Queue handle, MPI_Request *request) {
  int shown = MPI_SUCCESS;
  const auto said = has_comm ? std::optional(given.comm) : std::nullopt;
  const int code = on_queue(handle, said, [&](BatchQueue *queue) -> Status {
    if (!has_comm) given.comm = queue->comm();
    if (Status status = check_arguments(*queue, given, request); !status.is_ok()) return status;
    shown = show(queue, given);
    return shown == MPI_SUCCESS ? queue->enqueue(given, request) : Status();
  });
  return code != MPI_SUCCESS ? code : shown;
}

}  // namespace

int create(bool has_comm, MPI_Comm comm, void *stream, MPIX_Queue *queue) {
  int code = MPI_SUCCESS;
  if (!is_usable("queues", &code)) return code;
  const MPI_Comm raised_on = comm != MPI_COMM_NULL ? comm : MPI_COMM_SELF;
  return guarded(raised_on, [&]() -> int {
    if (queue == nullptr) {
      return raise(raised_on, Status::error(ErrorKind::kInvalidArgument,
                                            "the pointer to the queue is null; give the address of an MPIX_Queue"));
    }
    *queue = MPIX_QUEUE_NULL;
    if (has_comm && comm == MPI_COMM_NULL) {
      return raise(raised_on,
                   Status::error(ErrorKind::kInvalidArgument,
                                 "the communicator is MPI_COMM_NULL; give one of which this process is a rank"));
    }
    int size = 0;
    if (has_comm) code = wire::host().MPI_Comm_size(comm, &size);  // which refuses what is none
    if (code != MPI_SUCCESS) return code;
    std::unique_ptr<device::Stream> opened;
    std::unique_ptr<Carriers> carriers;
    Status status = device::Stream::open(stream, &opened);
    if (status.is_ok()) status = make_carriers(comm, *opened, &carriers);
    if (!status.is_ok()) return raise(raised_on, status);
    const auto made =
        std::make_shared<BatchQueue>(comm, std::move(opened), std::move(carriers), BatchQueue::Waits::kForAll);
    const std::scoped_lock lock(table().mutex);
    const std::uintptr_t number = table().last_number + 1;
    table().queues.emplace(number, made);
    table().last_number = number;
    *queue = reinterpret_cast<MPIX_Queue>(number);
    return MPI_SUCCESS;
  });
}

int free(MPIX_Queue handle) {
  return on_queue(handle, std::nullopt, [&](BatchQueue *queue) -> Status {
    if (Status status = queue->free(); !status.is_ok()) return status;
    const std::scoped_lock lock(table().mutex);
    table().queues.erase(number_of(handle));
    return {};
  });
}

int enqueue_send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, bool has_comm, MPI_Comm comm,
                 MPIX_Queue queue, MPI_Request *request) {
  // Sending does not change the buffer; one pointer serves both directions.
  void *read_only = const_cast<void *>(buffer);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return enqueue({true, read_only, count, type, dest, tag, comm}, has_comm, queue, request);
}

int enqueue_recv(void *buffer, int count, MPI_Datatype type, int source, int tag, bool has_comm, MPI_Comm comm,
                 MPIX_Queue queue, MPI_Request *request) {
  return enqueue({false, buffer, count, type, source, tag, comm}, has_comm, queue, request);
}

int enqueue_collective(CollectiveArguments given, MPIX_Queue handle, MPI_Request *request) {
  return on_queue(handle, std::nullopt, [&](BatchQueue *queue) -> Status {
    if (request == nullptr) return null_request();
    given.comm = queue->comm();
    MessagePtr message;
    Status status = queue->make(given, &message);
    return status.is_ok() ? queue->enqueue(message, request) : status;
  });
}

int enqueue_access(const rma::Call &call, MPI_Win window, MPIX_Queue handle, MPI_Request *request) {
  return on_window(window, handle, request, [&](BatchQueue *queue, const rma::WindowPtr &own) {
    return queue->enqueue_access(own, call, request);
  });
}

int enqueue_signal(bool is_send, int peer, MPI_Win window, MPIX_Queue handle, MPI_Request *request) {
  return on_window(window, handle, request, [&](BatchQueue *queue, const rma::WindowPtr &own) {
    return queue->enqueue_signal(own, is_send, peer, request);
  });
}

int enqueue_persistent(MPI_Request persistent, MPIX_Queue handle, MPI_Request *request) {
  return on_queue(handle, std::nullopt, [&](BatchQueue *queue) -> Status {
    if (request == nullptr) return null_request();
    MessagePtr message;
    const MPI_Comm raised_on = queue->comm() != MPI_COMM_NULL ? queue->comm() : MPI_COMM_SELF;
    Status status = make_persistent_message(persistent, raised_on, &message);
    return status.is_ok() ? queue->enqueue(message, request) : status;
  });
}

int enqueue_start(MPIX_Queue handle) {
  return on_queue(handle, std::nullopt, [](BatchQueue *queue) { return queue->start(); });
}

int enqueue_wait(MPIX_Queue handle) {
  return on_queue(handle, std::nullopt, [](BatchQueue *queue) { return queue->wait(); });
}

void abandon_at_end(const std::shared_ptr<BatchQueue> &queue) {
  const std::scoped_lock lock(table().mutex);
  std::erase_if(table().unnamed, [](const std::weak_ptr<BatchQueue> &one) { return one.expired(); });
  table().unnamed.push_back(queue);
}

void release_queues() noexcept {
  {
    const std::scoped_lock lock(table().mutex);
    if (!table().queues.empty()) {
      log::warn("ops",
                fmt::format("{} queues were not freed before MPI_Finalize (MPIX_Free_queue)", table().queues.size()));
    }
    // Their streams may be gone.
    for (const auto &[number, queue] : table().queues) queue->abandon();
    for (const std::weak_ptr<BatchQueue> &unnamed : table().unnamed) {
      if (const QueuePtr queue = unnamed.lock(); queue != nullptr) queue->abandon();
    }
    close_engines();  // before the memory goes that messages left behind may still be written to
    table().queues.clear();
    table().unnamed.clear();
  }
  static_cast<void>(device::free_words());
}

}  // namespace sluice::ops::queue
