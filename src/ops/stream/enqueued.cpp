// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Send_enqueue and its kin: each operation is a batch of its own of the communicator's queue, and each wait is for
// the messages that it names.
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <vector>

#include "generated/operations.hpp"
#include "ops/env/errors.hpp"
#include "ops/env/world.hpp"
#include "ops/queue/host_messages.hpp"
#include "ops/queue/shown_arguments.hpp"
#include "ops/stream/streams.hpp"
#include "wire/host_failure.hpp"
#include "wire/owned_handle.hpp"
#include "wire/status.hpp"

namespace sluice::ops::stream {
namespace {

using queue::Arguments;
using queue::BatchQueue;
using queue::Message;
using queue::MessagePtr;

// Runs `body`, which returns an error code that is raised already, or raises `status` itself.
template <typename Body>
int on_stream_of(MPI_Comm comm, Body body) noexcept {
  int code = MPI_SUCCESS;
  if (!is_usable("streams", &code)) return code;
  const MPI_Comm raised_on = comm != MPI_COMM_NULL ? comm : MPI_COMM_SELF;
  return guarded(raised_on, [&]() -> int {
    Status status;
    const auto attached = streams_of(comm);
    QueuePtr queue;
    if (attached == nullptr) {
      status = Status::error(ErrorKind::kInvalidArgument,
                             "the communicator has no stream; make one that has, with MPIX_Stream_comm_create");
    } else {
      status = attached->open_queue(comm, &queue);
    }
    if (status.is_ok()) code = body(queue.get(), &status);
    return status.is_ok() ? code : raise(raised_on, status);
  });
}

// What is said by an MPI_Count, said by an int: as elements of a longer type, where there are too many.
Status count_by_int(const Data &data, wire::OwnedDatatype *longer, Arguments *given) {
  given->buffer = data.buffer;
  given->type = data.type;
  if (data.count >= INT_MIN && data.count <= INT_MAX) {  // negative ones are the host MPI's to refuse
    given->count = static_cast<int>(data.count);
    return {};
  }
  if (data.count < 0 || !wire::has_function("MPI_Type_contiguous_c")) {
    return Status::error(ErrorKind::kBadCount,
                         fmt::format("{} elements are more than this host MPI can say; give a datatype of several "
                                     "elements and a smaller count",
                                     data.count));
  }
  const wire::Host &host = wire::host();
  int code = host.MPI_Type_contiguous_c(data.count, data.type, longer->slot());
  if (code == MPI_SUCCESS) code = host.MPI_Type_commit(longer->slot());
  if (code != MPI_SUCCESS) return wire::host_failure(code, "make a datatype of many elements");
  given->count = 1;
  given->type = longer->get();
  return {};
}

// A message of `given` on the queue, made after the host MPI took the arguments; null, and the code of an error that
// was raised, when it did not.
Status make_message(BatchQueue *queue, const Arguments &given, int *code, MessagePtr *message) {
  const bool is_open = !given.is_send && (given.peer == MPI_ANY_SOURCE || given.tag == MPI_ANY_TAG);
  if (is_open && !queue->takes_wildcards()) {
    return Status::error(ErrorKind::kInvalidArgument,
                         "MPI_ANY_SOURCE and MPI_ANY_TAG need the engine `thread`, and this communicator's queue has "
                         "another (sluice_assert_queues_only, or SLUICE_QUEUE_ENGINE); name the source and the tag");
  }
  *code = queue::show(queue, given);
  return *code == MPI_SUCCESS ? queue->make(given, message) : Status();
}

// One operation from here to its end: the stream starts it, and waits for it and nothing else.
Status run(BatchQueue *queue, const MessagePtr &message, MPI_Status *report) {
  if (Status status = message->leave(report); !status.is_ok()) return status;
  Status status = queue->enqueue(message, nullptr);
  if (!status.is_ok()) return status;
  status = queue->start();
  if (!status.is_ok() && queue->take_back(message, nullptr)) return status;
  status = queue->wait_for({&message, 1});
  if (!status.is_ok()) static_cast<void>(message->leave(nullptr));
  return status;
}

int enqueue(bool is_send, const Data &data, int peer, int tag, MPI_Comm comm, MPI_Status *report) {
  return on_stream_of(comm, [&](BatchQueue *queue, Status *status) {
    int code = MPI_SUCCESS;
    wire::OwnedDatatype longer;
    Arguments given{is_send, nullptr, 0, MPI_DATATYPE_NULL, peer, tag, comm};
    MessagePtr message;
    *status = count_by_int(data, &longer, &given);
    if (status->is_ok()) *status = make_message(queue, given, &code, &message);
    if (message != nullptr) *status = run(queue, message, report);
    return code;
  });
}

int begin(bool is_send, const Data &data, int peer, int tag, MPI_Comm comm, MPI_Request *request) {
  return on_stream_of(comm, [&](BatchQueue *queue, Status *status) {
    int code = MPI_SUCCESS;
    if (request == nullptr) {
      *status = Status::error(ErrorKind::kInvalidArgument,
                              "the pointer to the request is null; give the address of an MPI_Request");
      return code;
    }
    wire::OwnedDatatype longer;
    Arguments given{is_send, nullptr, 0, MPI_DATATYPE_NULL, peer, tag, comm};
    MessagePtr message;
    *status = count_by_int(data, &longer, &given);
    if (status->is_ok()) *status = make_message(queue, given, &code, &message);
    if (message == nullptr) return code;
    *status = queue->enqueue(message, request);
    if (!status->is_ok()) return code;
    *status = queue->start();
    if (!status->is_ok() && !queue->take_back(message, request)) *status = {};
    return code;
  });
}

// The requests of one queue among those of a call.
struct Awaited {
  QueuePtr queue;
  std::vector<MessagePtr> messages;
};

// A request of a call: neither for MPI_REQUEST_NULL. No queue where the communicator was freed: the message is complete
// then, or will be without the stream.
struct Asked {
  MessagePtr message;
  QueuePtr queue;
};

// Finds the messages, and by queue those that a stream is to wait for. Errors: a request is of no message that was
// enqueued by these functions, or stands there twice.
Status find_messages(std::span<const MPI_Request> requests, std::vector<Asked> *asked, std::vector<Awaited> *awaited) {
  for (const MPI_Request request : requests) {
    const MessagePtr message = request != MPI_REQUEST_NULL ? Message::of(request) : nullptr;
    const QueuePtr queue = message != nullptr ? message->queue() : nullptr;
    const bool is_twice = message != nullptr && std::ranges::find(*asked, message, &Asked::message) != asked->end();
    const bool is_of_stream = message != nullptr && (queue == nullptr || queue->waits_for_some());
    if (request != MPI_REQUEST_NULL && (is_twice || !is_of_stream)) {
      return Status::error(ErrorKind::kInvalidArgument,
                           fmt::format("request {} {}; give requests of MPIX_Isend_enqueue and MPIX_Irecv_enqueue, and "
                                       "complete others with MPI_Wait",
                                       asked->size(), is_twice ? "stands there twice" : "is of no stream"));
    }
    const bool is_over = queue == nullptr || queue->is_freed();
    asked->push_back({message, is_over ? nullptr : queue});
    if (is_over) continue;
    const auto known = std::ranges::find(*awaited, queue, &Awaited::queue);
    if (known != awaited->end()) {
      known->messages.push_back(message);
    } else {
      awaited->push_back({queue, {message}});
    }
  }
  return {};
}

// The program gives the requests up: `statuses`, if there are any, are written when their messages are complete.
// Returns the error of the last message that has one already.
Status leave_all(std::span<MPI_Request> requests, const std::vector<Asked> &asked, MPI_Status *statuses) {
  Status result;
  for (std::size_t k = 0; k < requests.size(); ++k) {
    MPI_Status *report = statuses != nullptr ? &statuses[k] : nullptr;
    if (asked[k].message == nullptr) {
      if (report == nullptr) continue;
      wire::clear(report);
      report->MPI_SOURCE = MPI_ANY_SOURCE;
      report->MPI_TAG = MPI_ANY_TAG;
      report->MPI_ERROR = MPI_SUCCESS;
    } else if (asked[k].queue == nullptr) {
      if (const int code = wait(&requests[k], report != nullptr ? report : MPI_STATUS_IGNORE); code != MPI_SUCCESS) {
        result = wire::host_failure(code, "complete a request of a message");
      }
    } else if (Status status = asked[k].message->leave(report); !status.is_ok()) {
      result = status;
    }
  }
  return result;
}

// *raised_on: where an error is raised; of the first message's communicator.
Status await_all(std::span<MPI_Request> requests, MPI_Status *statuses, MPI_Comm *raised_on) {
  std::vector<Asked> asked;
  std::vector<Awaited> awaited;
  if (Status status = find_messages(requests, &asked, &awaited); !status.is_ok()) return status;
  if (!awaited.empty()) *raised_on = awaited.front().queue->comm();
  Status result = leave_all(requests, asked, statuses);  // first: the stream's wait is for the statuses, too
  for (const Awaited &one : awaited) {
    Status status = one.queue->wait_for(one.messages);
    if (status.is_ok()) continue;
    result = status;
    for (const MessagePtr &message : one.messages) static_cast<void>(message->leave(nullptr));
  }
  for (MPI_Request &request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    if (const int code = request_free(&request); code != MPI_SUCCESS) {
      result = wire::host_failure(code, "free a request of a message");
    }
  }
  return result;
}

}  // namespace

int send_enqueue(const Data &data, int dest, int tag, MPI_Comm comm) noexcept {
  return enqueue(true, data, dest, tag, comm, nullptr);
}

int recv_enqueue(const Data &data, int source, int tag, MPI_Comm comm, MPI_Status *status) noexcept {
  return enqueue(false, data, source, tag, comm, status != MPI_STATUS_IGNORE ? status : nullptr);
}

int isend_enqueue(const Data &data, int dest, int tag, MPI_Comm comm, MPI_Request *request) noexcept {
  return begin(true, data, dest, tag, comm, request);
}

int irecv_enqueue(const Data &data, int source, int tag, MPI_Comm comm, MPI_Request *request) noexcept {
  return begin(false, data, source, tag, comm, request);
}

int wait_enqueue(int count, MPI_Request *requests, MPI_Status *statuses) noexcept {
  int code = MPI_SUCCESS;
  if (!is_usable("streams", &code)) return code;
  return guarded(MPI_COMM_SELF, [&]() -> int {
    if (count < 0 || (count > 0 && requests == nullptr)) {
      return raise(MPI_COMM_SELF, Status::error(ErrorKind::kInvalidArgument,
                                                "the number of requests is negative, or their address is null; give "
                                                "the array of requests and its length"));
    }
    const bool are_wanted = statuses != MPI_STATUSES_IGNORE;
    MPI_Comm raised_on = MPI_COMM_SELF;
    const Status status =
        await_all({requests, static_cast<std::size_t>(count)}, are_wanted ? statuses : nullptr, &raised_on);
    return status.is_ok() ? MPI_SUCCESS : raise(raised_on, status);
  });
}

int allreduce_enqueue(const void *sendbuf, const Data &data, MPI_Op op, MPI_Comm comm) noexcept {
  return on_stream_of(comm, [&](BatchQueue *queue, Status *status) {
    if (data.count > INT_MAX || data.count < INT_MIN) {
      *status = Status::error(ErrorKind::kBadCount,
                              fmt::format("{} elements are more than a reduction of a queue takes; enqueue several "
                                          "reductions of at most {} elements",
                                          data.count, INT_MAX));
      return MPI_SUCCESS;
    }
    queue::CollectiveArguments given;
    given.operation = Operation::kEnqueueAllreduce;
    given.send_buf = sendbuf;
    given.recv_buf = data.buffer;
    given.send_count = given.recv_count = static_cast<int>(data.count);
    given.send_type = given.recv_type = data.type;
    given.op = op;
    given.comm = comm;
    MessagePtr message;
    *status = queue->make(given, &message);
    if (status->is_ok()) *status = run(queue, message, nullptr);
    return MPI_SUCCESS;
  });
}

}  // namespace sluice::ops::stream
