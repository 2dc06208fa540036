// SPDX-License-Identifier: BSD-3-Clause
// A program for MPICH's enqueued operations, as its users write them: it calls MPI_Init, and its own file refers to
// MPIX_Stream_comm_create, by which Sluice knows that a thread must start messages. Run it without --threads.
#include "tests/ranks/queue/stream_functions.hpp"

extern "C" __attribute__((weak)) int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm *newcomm);

namespace sluice::tests::stream_program_test {

TEST(StreamProgram, MpiInit_IsEnough) {
  SKIP_WITHOUT_STREAMS();
  ASSERT_NE(&MPIX_Stream_comm_create, nullptr);
  const Session &session = Session::get();
  int provided = MPI_THREAD_SINGLE;
  EXPECT_MPI(MPI_Query_thread(&provided));
  EXPECT_EQ(provided, MPI_THREAD_MULTIPLE);
  constexpr int kBytes = 30011;
  const Memory memory(session.module(), Kind::device, kBytes);
  memory.fill_pattern(session.rank(), 1);
  ProgramStream stream;
  MPI_Info info = info_of(stream.native());
  MPIX_Stream named = MPIX_STREAM_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  EXPECT_MPI(enqueue().create(info, &named));
  EXPECT_MPI(MPI_Info_free(&info));
  EXPECT_MPI(MPIX_Stream_comm_create(session.comm(), named, &comm));
  EXPECT_MPI(enqueue().start_thread(named));
  if (session.begins()) {
    EXPECT_MPI(enqueue().send(memory.data(), kBytes, MPI_BYTE, session.partner(), 1, comm));
  } else {
    EXPECT_MPI(enqueue().recv(memory.data(), kBytes, MPI_BYTE, session.partner(), 1, comm, MPI_STATUS_IGNORE));
    stream.synchronize();  // no call of MPI's: the thread alone moves the message
    EXPECT_EQ(find_pattern_error(memory.read(), session.partner(), 1), "");
  }
  EXPECT_MPI(enqueue().stop_thread(named));
  EXPECT_MPI(MPI_Comm_free(&comm));
  EXPECT_MPI(enqueue().free(&named));
}

}  // namespace sluice::tests::stream_program_test
