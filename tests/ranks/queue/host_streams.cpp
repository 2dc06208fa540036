// SPDX-License-Identifier: BSD-3-Clause
// Communicators with streams that are the host MPI's own, the orders of threads: Sluice leaves them to it, and device
// memory is staged on them. Run with MPIR_CVAR_CH4_RESERVE_VCIS, without which MPICH gives no such stream.
#include "tests/ranks/queue/stream_functions.hpp"

namespace sluice::tests::host_streams_test {
namespace {

constexpr int kTag = 71;
constexpr int kBytes = 70003;

// Messages both ways, out of one kind of memory and into another.
void exchange(MPI_Comm comm, Kind from, Kind to, int iteration) {
  const Session &session = Session::get();
  const Memory out = make_memory(from, kBytes);
  const Memory in = make_memory(to, kBytes);
  out.fill_pattern(session.rank(), iteration);
  in.fill(kPoison);
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_MPI(MPI_Irecv(in.data(), kBytes, MPI_BYTE, session.partner(), kTag, comm, &request));
  EXPECT_MPI(MPI_Send(out.data(), kBytes, MPI_BYTE, session.partner(), kTag, comm));
  EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), iteration), "");
}

void use(MPI_Comm comm) {
  const Session &session = Session::get();
  exchange(comm, Kind::host, Kind::host, 1);
  exchange(comm, Kind::device, Kind::device, 2);
  exchange(comm, Kind::device, Kind::host, 3);
  EXPECT_MPI(MPI_Barrier(comm));
  int sum = session.rank() + 1;
  EXPECT_MPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT_EQ(sum, session.size() * (session.size() + 1) / 2);
  const Memory memory = make_memory(Kind::device, kBytes);
  memory.fill_pattern(session.rank(), 4);
  EXPECT_MPI(MPI_Bcast(memory.data(), kBytes, MPI_BYTE, 1, comm));
  EXPECT_EQ(find_pattern_error(memory.read(), 1, 4), "");
}

}  // namespace

// On all ranks; then on rank 0 alone, where the others cannot tell by themselves.
TEST(HostStreams, AreLeftToTheHostMpi_WithTheirDuplicates) {
  if (enqueue().create == nullptr || !Session::get().has_sluice()) GTEST_SKIP() << "missing: Sluice";
  const Session &session = Session::get();
  MPIX_Stream stream = MPIX_STREAM_NULL;
  EXPECT_MPI(enqueue().create(MPI_INFO_NULL, &stream));
  for (const bool have_all : {true, false}) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm copy = MPI_COMM_NULL;
    MPIX_Stream given = have_all || session.rank() == 0 ? stream : MPIX_STREAM_NULL;
    EXPECT_MPI(enqueue().comm_create(session.comm(), given, &comm));
    use(comm);
    EXPECT_MPI(MPI_Comm_dup(comm, &copy));
    use(copy);
    EXPECT_MPI(MPI_Comm_free(&copy));
    EXPECT_MPI(MPI_Comm_free(&comm));
  }
  EXPECT_MPI(enqueue().free(&stream));
}

}  // namespace sluice::tests::host_streams_test
