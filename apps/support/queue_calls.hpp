// SPDX-License-Identifier: BSD-3-Clause
// Stream-triggered messages (sluice/queue.h) for a program that is not linked to libsluice: the functions are looked
// up.
#pragma once

#include <dlfcn.h>
#include <sluice/enqueue.h>
#include <sluice/queue.h>

#include <cstdio>
#include <vector>

#include "apps/support/device.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::apps {

// Null where no library has the function.
template <class Function>
Function find(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

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
};

// MPICH's functions for the same (sluice/enqueue.h).
struct EnqueueCalls {
  int (*set_hex)(MPI_Info, const char *, const void *, int) = find<decltype(set_hex)>("MPIX_Info_set_hex");
  int (*create)(MPI_Info, MPIX_Stream *) = find<decltype(create)>("MPIX_Stream_create");
  int (*free)(MPIX_Stream *) = find<decltype(free)>("MPIX_Stream_free");
  int (*comm_create)(MPI_Comm, MPIX_Stream, MPI_Comm *) = find<decltype(comm_create)>("MPIX_Stream_comm_create");
  int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm,
               MPI_Request *) = find<decltype(isend)>("MPIX_Isend_enqueue");
  int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm,
               MPI_Request *) = find<decltype(irecv)>("MPIX_Irecv_enqueue");
  int (*waitall)(int, MPI_Request *, MPI_Status *) = find<decltype(waitall)>("MPIX_Waitall_enqueue");

  static const EnqueueCalls &get() {
    static const EnqueueCalls calls;
    return calls;
  }
};

// By which functions a stream starts and awaits messages.
enum class QueueForm {
  batches,  // MPIX_Enqueue_send and its kin
  enqueued  // MPIX_Isend_enqueue and its kin, MPICH's: each message starts where it is enqueued
};

// The messages of one stream. complete() comes before the end. Collective to make and to destroy. Throws
// bench::MpiError.
class MessageQueue {
 public:
  MessageQueue(MPI_Comm communicator, const Stream &stream, QueueForm form) : form_(form) {
    if (form == QueueForm::batches) {
      bench::check_mpi(calls_.create(communicator, stream.native(), &queue_), "MPIX_Create_queue");
      return;
    }
    void *native = stream.native();
    MPI_Info info = MPI_INFO_NULL;
    bench::check_mpi(MPI_Info_create(&info), "MPI_Info_create");
    bench::check_mpi(MPI_Info_set(info, "type", stream.type()), "MPI_Info_set");
    bench::check_mpi(enqueue_.set_hex(info, "value", &native, sizeof native), "MPIX_Info_set_hex");
    bench::check_mpi(enqueue_.create(info, &named_), "MPIX_Stream_create");
    bench::check_mpi(MPI_Info_free(&info), "MPI_Info_free");
    bench::check_mpi(enqueue_.comm_create(communicator, named_, &comm_), "MPIX_Stream_comm_create");
  }
  ~MessageQueue() {
    const bool is_freed = form_ == QueueForm::batches
                              ? calls_.free(queue_) == MPI_SUCCESS
                              : MPI_Comm_free(&comm_) == MPI_SUCCESS && enqueue_.free(&named_) == MPI_SUCCESS;
    if (!is_freed) std::fputs("a queue of messages could not be freed\n", stderr);
  }
  MessageQueue(const MessageQueue &) = delete;
  MessageQueue &operator=(const MessageQueue &) = delete;

  // A kernel that makes `data` is enqueued before.
  void enqueue_send(const void *data, int count, MPI_Datatype type, int peer, int tag) {
    MPI_Request *request = &requests_.emplace_back(MPI_REQUEST_NULL);
    if (form_ == QueueForm::batches) {
      bench::check_mpi(calls_.send(data, count, type, peer, tag, queue_, request), "MPIX_Enqueue_send");
    } else {
      bench::check_mpi(enqueue_.isend(data, count, type, peer, tag, comm_, request), "MPIX_Isend_enqueue");
    }
  }
  void enqueue_recv(void *data, int count, MPI_Datatype type, int peer, int tag) {
    MPI_Request *request = &requests_.emplace_back(MPI_REQUEST_NULL);
    if (form_ == QueueForm::batches) {
      bench::check_mpi(calls_.recv(data, count, type, peer, tag, queue_, request), "MPIX_Enqueue_recv");
    } else {
      bench::check_mpi(enqueue_.irecv(data, count, type, peer, tag, comm_, request), "MPIX_Irecv_enqueue");
    }
  }
  // The stream starts what was enqueued since the last start; and waits for all that it has started.
  void enqueue_start() {
    if (form_ == QueueForm::batches) bench::check_mpi(calls_.start(queue_), "MPIX_Enqueue_start");
  }
  void enqueue_wait() {
    if (form_ == QueueForm::batches) {
      bench::check_mpi(calls_.wait(queue_), "MPIX_Enqueue_wait");
      return;
    }
    bench::check_mpi(enqueue_.waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
                     "MPIX_Waitall_enqueue");
    requests_.clear();
  }

  // Blocks until all messages are complete; no message is enqueued that was not started.
  void complete() {
    bench::check_mpi(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
                     "MPI_Waitall");
    requests_.clear();
  }

 private:
  const QueueCalls &calls_ = QueueCalls::get();
  const EnqueueCalls &enqueue_ = EnqueueCalls::get();
  const QueueForm form_;
  MPIX_Queue queue_ = MPIX_QUEUE_NULL;
  MPIX_Stream named_ = MPIX_STREAM_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;  // the stream's
  std::vector<MPI_Request> requests_;
};

}  // namespace sluice::apps
