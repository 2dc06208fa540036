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

#include "base/log.hpp"
#include "base/switch.hpp"
#include "device/place.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/env/errors.hpp"
#include "ops/env/world.hpp"
#include "ops/queue/batch_reserve.hpp"
#include "ops/queue/checked_arguments.hpp"
#include "ops/queue/engine.hpp"
#include "ops/queue/engine_exchange.hpp"
#include "ops/queue/persistent.hpp"
#include "wire/host.hpp"

namespace sluice::ops::queue {
namespace {

struct Queue {
  std::mutex mutex;  // one call at a time
  MPI_Comm comm = MPI_COMM_NULL;
  const device::Backend *backend = nullptr;
  std::int32_t device = 0;
  std::shared_ptr<Engine> engine;  // with mutex
  BatchReserve reserve;            // with mutex
  CheckedArguments admitted;       // with mutex
  bool is_freed = false;           // with mutex
};
using QueuePtr = std::shared_ptr<Queue>;

// By the number in the handle, which is never used again.
struct Table {
  std::mutex mutex;
  std::unordered_map<std::uintptr_t, QueuePtr> queues;
  std::uintptr_t last_number = 0;
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
  const bool was_one = number_of(queue) <= table().last_number;
  return Status::error(ErrorKind::kInvalidArgument,
                       was_one ? "the queue was freed (MPIX_Free_queue) before this call; make another one"
                               : "this is no queue; give what MPIX_Create_queue wrote");
}

// What no error handler can be told of: MPI is not there, or Sluice is switched off.
bool is_usable(int *code) {
  Status status;
  if (!is_world_alive()) {
    status = Status::error(ErrorKind::kUnsupported, "queues can be used between MPI_Init and MPI_Finalize only");
  } else if (!is_enabled()) {
    status = Status::error(ErrorKind::kUnsupported, "Sluice is switched off (SLUICE_ENABLE=0), and with it its queues");
  } else {
    return true;
  }
  set_last_error(status);
  log::error("ops", status.message());
  *code = MPI_ERR_OTHER;
  return false;
}

// Runs `body`, a call for `handle`, with its queue locked. Errors go to the queue's communicator.
template <typename Body>
int on_queue(MPIX_Queue handle, Body body) {
  int code = MPI_SUCCESS;
  if (!is_usable(&code)) return code;
  return guarded(MPI_COMM_SELF, [&]() -> int {
    const QueuePtr queue = find(handle);
    if (queue == nullptr) return raise(MPI_COMM_SELF, unknown_queue(handle));
    Status status;
    {
      const std::scoped_lock lock(queue->mutex);
      // Freed by another thread since it was found.
      status = queue->is_freed ? unknown_queue(handle) : body(queue.get());
    }
    // Not with the lock: an error handler may call for this queue.
    return status.is_ok() ? MPI_SUCCESS : raise(queue->comm != MPI_COMM_NULL ? queue->comm : MPI_COMM_SELF, status);
  });
}

// The host MPI is shown the program's arguments, unless it has taken the like before: they are its to refuse. Returns
// an error code, raised already.
int show(Queue *queue, const Arguments &given) {
  {
    const std::scoped_lock lock(queue->mutex);
    if (queue->admitted.has(given)) return MPI_SUCCESS;
  }
  const wire::Host &host = wire::host();
  MPI_Request shown = MPI_REQUEST_NULL;
  const int count = given.count < 0 ? given.count : 0;
  const int result =
      given.is_send ? host.MPI_Send_init(given.buffer, count, given.type, given.peer, given.tag, given.comm, &shown)
                    : host.MPI_Recv_init(given.buffer, count, given.type, given.peer, given.tag, given.comm, &shown);
  if (result != MPI_SUCCESS) return result;
  // The MPI-5 ABI of MPICH 5 returns success after it has called the error handler.
  if (shown == MPI_REQUEST_NULL) return MPI_ERR_OTHER;
  if (const int freed = host.MPI_Request_free(&shown); freed != MPI_SUCCESS) return freed;
  const std::scoped_lock lock(queue->mutex);
  queue->admitted.add(given);
  return MPI_SUCCESS;
}

// Where the buffer lies; an error when the stream's device is not the one to have it.
Status classify_buffer(const Queue &queue, const Arguments &given, device::Place *place) {
  if (given.count == 0 || given.peer == MPI_PROC_NULL || !is_valid(given.type)) return {};
  const auto first =
      reinterpret_cast<std::uintptr_t>(given.buffer) + static_cast<std::uintptr_t>(first_byte_of(given.type));
  if (Status status = device::classify(reinterpret_cast<const void *>(first), place); !status.is_ok()) return status;
  if (place->kind == MemoryKind::kFreed) {
    return Status::error(ErrorKind::kBadBuffer, "the buffer was freed before the message was enqueued");
  }
  if (place->kind != MemoryKind::kDevice) return {};
  if (place->backend == queue.backend && place->device == queue.device) return {};
  return Status::error(
      ErrorKind::kBadBuffer,
      fmt::format("the buffer is memory of {} device {}, and the queue's stream works on {} device {}; "
                  "make the queue for a stream of the buffer's device",
                  place->backend->name(), place->device, queue.backend->name(), queue.device));
}

Status check_arguments(const Queue &queue, const Arguments &given, const MPI_Request *request) {
  if (request == nullptr) return Status::error(ErrorKind::kInvalidArgument, "the pointer to the request is null");
  if (given.comm == MPI_COMM_NULL) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "the message has no communicator: it is MPI_COMM_NULL, or the queue was made without one "
                         "(SLUICE_QUEUE_VENDOR_FORM) and the message is enqueued in the other form");
  }
  // The engine was chosen for the queue's.
  if (queue.comm != MPI_COMM_NULL && given.comm != queue.comm) {
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

// As much as one message of a type without gaps has; enough to make memory for.
std::uint64_t bytes_of(const Arguments &given) {
  if (given.count <= 0) return 0;
  transfer::LayoutPtr layout;
  if (named_layout(given.type, &layout)) return static_cast<std::uint64_t>(given.count) * layout->size_bytes;
  int type_bytes = 0;
  if (wire::host().MPI_Type_size(given.type, &type_bytes) != MPI_SUCCESS || type_bytes <= 0) return 0;
  return static_cast<std::uint64_t>(given.count) * static_cast<std::uint64_t>(type_bytes);
}

// Makes the message's request, and adds it to the open batch.
Status add_to(Queue *queue, MPIX_Queue handle, const MessagePtr &message, MPI_Request *request) {
  if (Status status = message->open(request); !status.is_ok()) return status;
  Status status;
  try {
    const std::scoped_lock lock(queue->mutex);
    if (queue->is_freed) {
      status = unknown_queue(handle);
    } else {
      queue->engine->enqueue(message);
    }
  } catch (...) {
    message->withdraw(request);
    throw;
  }
  if (!status.is_ok()) message->withdraw(request);
  return status;
}

// Makes the message as its engine carries it, and adds it.
Status enqueue_on(Queue *queue, MPIX_Queue handle, const Arguments &given, const device::Place &place,
                  MPI_Request *request) {
  CarrierPtr carrier;
  Route route = Route::kThread;
  Status status;
  {
    const std::scoped_lock lock(queue->mutex);
    status = queue->is_freed ? unknown_queue(handle) : queue->engine->carry(given, place, &carrier, &route);
    const bool is_staged = status.is_ok() && place.kind == MemoryKind::kDevice && !carrier->is_captured();
    if (is_staged) queue->reserve.add(place, bytes_of(given));
  }
  if (!status.is_ok()) return status;
  const Operation operation = given.is_send ? Operation::kEnqueueSend : Operation::kEnqueueRecv;
  const auto message = std::make_shared<Message>(operation, given.comm, place.kind, route, std::move(carrier));
  return add_to(queue, handle, message, request);
}

// Where the buffers lie: both on the stream's device, or the host's.
Status classify_collective(const Queue &queue, const CollectiveArguments &given, MemoryKind *kind) {
  // Only read here.
  auto *send_buf = const_cast<void *>(given.send_buf);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  const Arguments sent{true, send_buf, given.send_count, given.send_type, 0, 0, given.comm};
  const Arguments received{false, given.recv_buf, given.recv_count, given.recv_type, 0, 0, given.comm};
  *kind = MemoryKind::kHost;
  for (const Arguments &side : {sent, received}) {
    if (side.type == MPI_DATATYPE_NULL || side.buffer == MPI_IN_PLACE) continue;
    device::Place place;
    if (Status status = classify_buffer(queue, side, &place); !status.is_ok()) return status;
    if (place.kind == MemoryKind::kDevice) *kind = place.kind;
  }
  return {};
}

int enqueue(Arguments given, bool has_comm, MPIX_Queue handle, MPI_Request *request) {
  int code = MPI_SUCCESS;
  if (!is_usable(&code)) return code;
  MPI_Comm raised_on = has_comm && given.comm != MPI_COMM_NULL ? given.comm : MPI_COMM_SELF;
  return guarded(raised_on, [&]() -> int {
    const QueuePtr queue = find(handle);
    if (queue == nullptr) return raise(raised_on, unknown_queue(handle));
    if (!has_comm) given.comm = queue->comm;
    if (given.comm != MPI_COMM_NULL) raised_on = given.comm;
    Status status = check_arguments(*queue, given, request);
    if (!status.is_ok()) return raise(raised_on, status);
    code = show(queue.get(), given);
    if (code != MPI_SUCCESS) return code;
    device::Place place;
    status = classify_buffer(*queue, given, &place);
    if (status.is_ok()) status = enqueue_on(queue.get(), handle, given, place, request);
    return status.is_ok() ? MPI_SUCCESS : raise(raised_on, status);
  });
}

}  // namespace

int create(bool has_comm, MPI_Comm comm, void *stream, MPIX_Queue *queue) {
  int code = MPI_SUCCESS;
  if (!is_usable(&code)) return code;
  const MPI_Comm raised_on = comm != MPI_COMM_NULL ? comm : MPI_COMM_SELF;
  return guarded(raised_on, [&]() -> int {
    if (queue == nullptr) {
      return raise(raised_on, Status::error(ErrorKind::kInvalidArgument, "the pointer to the queue is null"));
    }
    *queue = MPIX_QUEUE_NULL;
    if (has_comm && comm == MPI_COMM_NULL) {
      return raise(raised_on, Status::error(ErrorKind::kInvalidArgument, "the communicator is MPI_COMM_NULL"));
    }
    int size = 0;
    if (has_comm) code = wire::host().MPI_Comm_size(comm, &size);  // which refuses what is none
    if (code != MPI_SUCCESS) return code;
    std::unique_ptr<device::Stream> opened;
    const auto made = std::make_shared<Queue>();
    made->comm = comm;
    if (Status status = device::Stream::open(stream, &opened); !status.is_ok()) return raise(raised_on, status);
    made->backend = &opened->backend();
    made->device = opened->device();
    Status status = make_engine(has_comm ? comm : MPI_COMM_NULL, std::move(opened), &made->engine);
    if (!status.is_ok()) return raise(raised_on, status);
    const std::scoped_lock lock(table().mutex);
    const std::uintptr_t number = table().last_number + 1;
    table().queues.emplace(number, made);
    table().last_number = number;
    *queue = reinterpret_cast<MPIX_Queue>(number);
    return MPI_SUCCESS;
  });
}

int free(MPIX_Queue queue) {
  return on_queue(queue, [&](Queue *freed) -> Status {
    const Engine::Pending pending = freed->engine->pending();
    if (pending.n_open + pending.n_started != 0) {
      return Status::error(
          ErrorKind::kInvalidArgument,
          fmt::format(
              "the queue has {} messages that were not started and {} that are not complete; start them, wait for "
              "them (MPI_Waitall, or MPIX_Enqueue_wait and the stream), then free it",
              pending.n_open, pending.n_started));
    }
    freed->is_freed = true;
    freed->engine->close();
    freed->engine.reset();
    const std::scoped_lock lock(table().mutex);
    table().queues.erase(number_of(queue));
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
  int code = MPI_SUCCESS;
  if (!is_usable(&code)) return code;
  MPI_Comm raised_on = MPI_COMM_SELF;
  return guarded(raised_on, [&]() -> int {
    const QueuePtr queue = find(handle);
    if (queue == nullptr) return raise(raised_on, unknown_queue(handle));
    given.comm = queue->comm;
    if (given.comm != MPI_COMM_NULL) raised_on = given.comm;
    MemoryKind kind = MemoryKind::kHost;
    CarrierPtr carrier;
    Status status = check_collective(given, request);
    if (status.is_ok()) status = classify_collective(*queue, given, &kind);
    if (status.is_ok()) status = make_collective_carrier(given, &carrier);
    if (status.is_ok()) {
      const auto message =
          std::make_shared<Message>(given.operation, given.comm, kind, Route::kThread, std::move(carrier));
      status = add_to(queue.get(), handle, message, request);
    }
    return status.is_ok() ? MPI_SUCCESS : raise(raised_on, status);
  });
}

int enqueue_persistent(MPI_Request persistent, MPIX_Queue handle, MPI_Request *request) {
  int code = MPI_SUCCESS;
  if (!is_usable(&code)) return code;
  MPI_Comm raised_on = MPI_COMM_SELF;
  return guarded(raised_on, [&]() -> int {
    const QueuePtr queue = find(handle);
    if (queue == nullptr) return raise(raised_on, unknown_queue(handle));
    if (queue->comm != MPI_COMM_NULL) raised_on = queue->comm;
    Status status = check_persistent(persistent, request);
    if (status.is_ok()) {
      const auto message = std::make_shared<Message>(std::nullopt, raised_on, MemoryKind::kHost, Route::kThread,
                                                     make_persistent_carrier(persistent));
      status = add_to(queue.get(), handle, message, request);
    }
    return status.is_ok() ? MPI_SUCCESS : raise(raised_on, status);
  });
}

int enqueue_start(MPIX_Queue queue) {
  return on_queue(queue, [](Queue *started) {
    Status status = started->engine->start();
    if (status.is_ok()) started->reserve.begin_batch();
    return status;
  });
}

int enqueue_wait(MPIX_Queue queue) {
  return on_queue(queue, [](Queue *waiting) { return waiting->engine->wait(); });
}

void release_queues() noexcept {
  {
    const std::scoped_lock lock(table().mutex);
    if (!table().queues.empty()) {
      log::warn("ops",
                fmt::format("{} queues were not freed before MPI_Finalize (MPIX_Free_queue)", table().queues.size()));
    }
    // Their streams may be gone.
    for (const auto &[number, queue] : table().queues) queue->engine->abandon();
    close_engines();  // before the memory goes that messages left behind may still be written to
    table().queues.clear();
  }
  static_cast<void>(device::free_words());
}

}  // namespace sluice::ops::queue
