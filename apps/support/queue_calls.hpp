// SPDX-License-Identifier: BSD-3-Clause
// Stream-triggered messages (sluice/queue.h) for a program that is not linked to libsluice: the functions are looked
// up.
#pragma once

#include <dlfcn.h>
#include <sluice/queue.h>

#include <cstdio>
#include <vector>

#include "bench/mpi/world.hpp"

namespace sluice::apps {

struct QueueCalls {
  decltype(&MPIX_Create_queue) create = find<decltype(&MPIX_Create_queue)>("MPIX_Create_queue");
  decltype(&MPIX_Free_queue) free = find<decltype(&MPIX_Free_queue)>("MPIX_Free_queue");
  decltype(&MPIX_Enqueue_send) send = find<decltype(&MPIX_Enqueue_send)>("MPIX_Enqueue_send");
  decltype(&MPIX_Enqueue_recv) recv = find<decltype(&MPIX_Enqueue_recv)>("MPIX_Enqueue_recv");
  decltype(&MPIX_Enqueue_start) start = find<decltype(&MPIX_Enqueue_start)>("MPIX_Enqueue_start");
  decltype(&MPIX_Enqueue_wait) wait = find<decltype(&MPIX_Enqueue_wait)>("MPIX_Enqueue_wait");

  // False where no library below has them.
  bool are_there() const {
    return create != nullptr && free != nullptr && send != nullptr && recv != nullptr && start != nullptr &&
           wait != nullptr;
  }

  static const QueueCalls &get() {
    static const QueueCalls calls;
    return calls;
  }

 private:
  template <class Function>
  static Function find(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

// The messages of one stream. complete() comes before the end. Throws bench::MpiError.
class MessageQueue {
 public:
  MessageQueue(MPI_Comm communicator, void *stream) {
    bench::check_mpi(calls_.create(communicator, stream, &queue_), "MPIX_Create_queue");
  }
  ~MessageQueue() {
    if (calls_.free(queue_) != MPI_SUCCESS) std::fputs("a queue of messages could not be freed\n", stderr);
  }
  MessageQueue(const MessageQueue &) = delete;
  MessageQueue &operator=(const MessageQueue &) = delete;

  void enqueue_send(const void *data, int count, MPI_Datatype type, int peer, int tag) {
    requests_.push_back(MPI_REQUEST_NULL);
    bench::check_mpi(calls_.send(data, count, type, peer, tag, queue_, &requests_.back()), "MPIX_Enqueue_send");
  }
  void enqueue_recv(void *data, int count, MPI_Datatype type, int peer, int tag) {
    requests_.push_back(MPI_REQUEST_NULL);
    bench::check_mpi(calls_.recv(data, count, type, peer, tag, queue_, &requests_.back()), "MPIX_Enqueue_recv");
  }
  // The stream starts what was enqueued since the last start; and waits for all that it has started.
  void enqueue_start() { bench::check_mpi(calls_.start(queue_), "MPIX_Enqueue_start"); }
  void enqueue_wait() { bench::check_mpi(calls_.wait(queue_), "MPIX_Enqueue_wait"); }

  // Blocks until all messages are complete; no message is enqueued that was not started.
  void complete() {
    bench::check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
                     "MPI_Waitall");
    requests_.clear();
  }

 private:
  const QueueCalls &calls_ = QueueCalls::get();
  MPIX_Queue queue_ = MPIX_QUEUE_NULL;
  std::vector<MPI_Request> requests_;
};

}  // namespace sluice::apps
