// SPDX-License-Identifier: BSD-3-Clause
// The functions of sluice/queue.h, looked up as a program does that is not linked to libsluice; and a queue that is
// freed at the end.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

#include "sluice/queue.h"
#include "sluice/sluice.h"
#include "tests/support/program_stream.hpp"

namespace sluice::tests {

struct QueueFunctions {
  decltype(&MPIX_Create_queue) create = find<decltype(&MPIX_Create_queue)>("MPIX_Create_queue");
  decltype(&MPIX_Free_queue) free = find<decltype(&MPIX_Free_queue)>("MPIX_Free_queue");
  decltype(&MPIX_Enqueue_send) send = find<decltype(&MPIX_Enqueue_send)>("MPIX_Enqueue_send");
  decltype(&MPIX_Enqueue_recv) recv = find<decltype(&MPIX_Enqueue_recv)>("MPIX_Enqueue_recv");
  decltype(&MPIX_Enqueue_start) start = find<decltype(&MPIX_Enqueue_start)>("MPIX_Enqueue_start");
  decltype(&MPIX_Enqueue_wait) wait = find<decltype(&MPIX_Enqueue_wait)>("MPIX_Enqueue_wait");
  decltype(&sluice_enqueue_persistent) persistent =
      find<decltype(&sluice_enqueue_persistent)>("sluice_enqueue_persistent");
  decltype(&sluice_register_context) register_context =
      find<decltype(&sluice_register_context)>("sluice_register_context");
  // The vendor's form.
  decltype(&sluice_queue_create) create_of_stream = find<decltype(&sluice_queue_create)>("sluice_queue_create");
  decltype(&sluice_queue_send) send_on = find<decltype(&sluice_queue_send)>("sluice_queue_send");
  decltype(&sluice_queue_recv) recv_on = find<decltype(&sluice_queue_recv)>("sluice_queue_recv");

 private:
  template <class Function>
  static Function find(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

inline const QueueFunctions &mpix() {
  static const QueueFunctions functions;
  return functions;
}

inline int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

#define EXPECT_MPI(call)                                                            \
  do {                                                                              \
    const int code_of_call = (call);                                                \
    EXPECT_EQ(code_of_call, MPI_SUCCESS) << ::sluice::tests::text_of(code_of_call); \
  } while (false)

// A queue of the session's communicator on a stream; its messages are complete at the end.
class TestQueue {
 public:
  explicit TestQueue(const ProgramStream &stream, MPI_Comm comm = Session::get().comm()) {
    EXPECT_MPI(mpix().create(comm, stream.native(), &queue_));
    EXPECT_NE(queue_, MPIX_QUEUE_NULL);
  }
  ~TestQueue() {
    if (queue_ != MPIX_QUEUE_NULL) EXPECT_MPI(mpix().free(queue_));
  }
  TestQueue(const TestQueue &) = delete;
  TestQueue &operator=(const TestQueue &) = delete;

  MPIX_Queue get() const { return queue_; }
  MPI_Request &send(const void *buffer, int count, int tag, int peer, MPI_Datatype type = MPI_BYTE) {
    requests_.push_back(MPI_REQUEST_NULL);
    EXPECT_MPI(mpix().send(buffer, count, type, peer, tag, queue_, &requests_.back()));
    return requests_.back();
  }
  MPI_Request &recv(void *buffer, int count, int tag, int peer, MPI_Datatype type = MPI_BYTE) {
    requests_.push_back(MPI_REQUEST_NULL);
    EXPECT_MPI(mpix().recv(buffer, count, type, peer, tag, queue_, &requests_.back()));
    return requests_.back();
  }
  MPI_Request &persistent(MPI_Request operation) {
    requests_.push_back(MPI_REQUEST_NULL);
    EXPECT_MPI(mpix().persistent(operation, queue_, &requests_.back()));
    return requests_.back();
  }
  void start() const { EXPECT_MPI(mpix().start(queue_)); }
  void wait() const { EXPECT_MPI(mpix().wait(queue_)); }
  // Completes the requests of all that was enqueued.
  void complete() {
    EXPECT_MPI(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
    requests_.clear();
  }

 private:
  MPIX_Queue queue_ = MPIX_QUEUE_NULL;
  std::vector<MPI_Request> requests_;
};

#define SKIP_WITHOUT_QUEUES()                                                                 \
  if (!::sluice::tests::has_streams()) {                                                      \
    GTEST_SKIP() << "missing: a backend that can trigger and wait in streams (group stream)"; \
  }                                                                                           \
  ASSERT_NE(::sluice::tests::mpix().create, nullptr) << "libsluice has no MPIX_Create_queue"

}  // namespace sluice::tests
