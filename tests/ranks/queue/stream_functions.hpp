// SPDX-License-Identifier: BSD-3-Clause
// The functions of sluice/enqueue.h, looked up as a program does that is not linked to libsluice; and a communicator
// with a stream, which is freed at the end.
#pragma once

#include <cstdlib>

#include "sluice/enqueue.h"
#include "tests/ranks/queue/functions.hpp"

namespace sluice::tests {

struct EnqueueFunctions {
  int (*set_hex)(MPI_Info, const char *, const void *, int) = nullptr;
  int (*create)(MPI_Info, MPIX_Stream *) = nullptr;
  int (*free)(MPIX_Stream *) = nullptr;
  int (*comm_create)(MPI_Comm, MPIX_Stream, MPI_Comm *) = nullptr;
  int (*comm_create_multiplex)(MPI_Comm, int, MPIX_Stream *, MPI_Comm *) = nullptr;
  int (*get_stream)(MPI_Comm, int, MPIX_Stream *) = nullptr;
  int (*progress)(MPIX_Stream) = nullptr;
  int (*start_thread)(MPIX_Stream) = nullptr;
  int (*stop_thread)(MPIX_Stream) = nullptr;
  int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = nullptr;
  int (*recv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *) = nullptr;
  int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = nullptr;
  int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = nullptr;
  int (*wait)(MPI_Request *, MPI_Status *) = nullptr;
  int (*waitall)(int, MPI_Request *, MPI_Status *) = nullptr;
  int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm) = nullptr;
  int (*send_c)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm) = nullptr;
  int (*recv_c)(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status *) = nullptr;

  EnqueueFunctions() {
    find("MPIX_Info_set_hex", &set_hex);
    find("MPIX_Stream_create", &create);
    find("MPIX_Stream_free", &free);
    find("MPIX_Stream_comm_create", &comm_create);
    find("MPIX_Stream_comm_create_multiplex", &comm_create_multiplex);
    find("MPIX_Comm_get_stream", &get_stream);
    find("MPIX_Stream_progress", &progress);
    find("MPIX_Start_progress_thread", &start_thread);
    find("MPIX_Stop_progress_thread", &stop_thread);
    find("MPIX_Send_enqueue", &send);
    find("MPIX_Recv_enqueue", &recv);
    find("MPIX_Isend_enqueue", &isend);
    find("MPIX_Irecv_enqueue", &irecv);
    find("MPIX_Wait_enqueue", &wait);
    find("MPIX_Waitall_enqueue", &waitall);
    find("MPIX_Allreduce_enqueue", &allreduce);
    find("MPIX_Send_enqueue_c", &send_c);
    find("MPIX_Recv_enqueue_c", &recv_c);
  }

 private:
  template <class Function>
  static void find(const char *name, Function *function) {
    *function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

inline const EnqueueFunctions &enqueue() {
  static const EnqueueFunctions functions;
  return functions;
}

// The info that names a stream; the caller frees it.
inline MPI_Info info_of(const void *native) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_MPI(MPI_Info_create(&info));
  EXPECT_MPI(MPI_Info_set(info, "type", Session::get().module()->table().stream_words()[0]));
  EXPECT_MPI(enqueue().set_hex(info, "value", &native, sizeof native));
  return info;
}

// A duplicate of the session's communicator with a stream of the program's.
class StreamComm {
 public:
  explicit StreamComm(const ProgramStream &stream, MPI_Comm comm = Session::get().comm()) {
    MPI_Info info = info_of(stream.native());
    EXPECT_MPI(enqueue().create(info, &stream_));
    EXPECT_MPI(MPI_Info_free(&info));
    EXPECT_MPI(enqueue().comm_create(comm, stream_, &comm_));
    if (std::getenv("TEST_ASSERT_QUEUES") != nullptr) leave_to_queues();
  }
  ~StreamComm() {
    if (comm_ != MPI_COMM_NULL) EXPECT_MPI(MPI_Comm_free(&comm_));
    EXPECT_MPI(enqueue().free(&stream_));
    EXPECT_EQ(stream_, MPIX_STREAM_NULL);
  }
  StreamComm(const StreamComm &) = delete;
  StreamComm &operator=(const StreamComm &) = delete;

  MPI_Comm get() const { return comm_; }
  MPIX_Stream stream() const { return stream_; }
  void free(int (*function)(MPI_Comm *)) { EXPECT_MPI(function(&comm_)); }

 private:
  void leave_to_queues() const {
    MPI_Info info = MPI_INFO_NULL;
    EXPECT_MPI(MPI_Info_create(&info));
    EXPECT_MPI(MPI_Info_set(info, "sluice_assert_queues_only", "true"));
    EXPECT_MPI(MPI_Comm_set_info(comm_, info));
    EXPECT_MPI(MPI_Info_free(&info));
  }

  MPIX_Stream stream_ = MPIX_STREAM_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

#define SKIP_WITHOUT_STREAMS() \
  SKIP_WITHOUT_QUEUES();       \
  ASSERT_NE(::sluice::tests::enqueue().send, nullptr) << "libsluice has no MPIX_Send_enqueue"

}  // namespace sluice::tests
