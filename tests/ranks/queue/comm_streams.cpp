// SPDX-License-Identifier: BSD-3-Clause
// Communicators with a stream, and what is enqueued into it (sluice/enqueue.h): order, waits for single messages,
// statuses, duplicates, ends. No test asserts a time.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tests/ranks/queue/stream_functions.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::comm_streams_test {
namespace {

constexpr int kTag = 61;
constexpr int kHostTag = 62;  // between the hosts
constexpr int kBytes = 30011;

Memory make(Kind kind, std::size_t size_bytes = kBytes) {
  return {Session::get().module(), kind, size_bytes};
}

void tell(int peer) {
  EXPECT_MPI(MPI_Send(nullptr, 0, MPI_BYTE, peer, kHostTag, Session::get().comm()));
}

void hear(int peer) {
  EXPECT_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, peer, kHostTag, Session::get().comm(), MPI_STATUS_IGNORE));
}

void expect_status(const MPI_Status &status, int source, int tag, int count) {
  int received = -1;
  EXPECT_MPI(MPI_Get_count(&status, MPI_BYTE, &received));
  EXPECT_EQ(received, count);
  EXPECT_EQ(status.MPI_SOURCE, source);
  EXPECT_EQ(status.MPI_TAG, tag);
  EXPECT_EQ(status.MPI_ERROR, MPI_SUCCESS);
}

}  // namespace

// The sender's stream stands at a gate: the call has returned, and nothing goes. Its partner has a plain receive.
TEST(CommStreams, Send_GoesWhenTheStreamComesToIt_AndMeetsAPlainReceive) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory memory = make(Kind::device);
  ProgramStream stream;
  const StreamComm comm(stream);
  if (session.begins()) {
    memory.fill_pattern(session.rank(), 1);
    stream.close_gate();
    EXPECT_MPI(enqueue().send(memory.data(), kBytes, MPI_BYTE, peer, kTag, comm.get()));
    stream.mark();
    tell(peer);
    hear(peer);
    EXPECT_FALSE(stream.has_come());
    stream.open_gates();
    stream.synchronize();
    EXPECT_TRUE(stream.has_come());
  } else {
    hear(peer);
    int is_there = 0;
    for (int look = 0; look < 100; ++look) {
      EXPECT_MPI(MPI_Iprobe(peer, kTag, comm.get(), &is_there, MPI_STATUS_IGNORE));
      EXPECT_EQ(is_there, 0);
    }
    tell(peer);
    EXPECT_MPI(MPI_Recv(memory.data(), kBytes, MPI_BYTE, peer, kTag, comm.get(), MPI_STATUS_IGNORE));
    EXPECT_EQ(find_pattern_error(memory.read(), peer, 1), "");
  }
}

// What the stream runs behind a receive has the data; the status is there when the host has waited for the stream.
TEST(CommStreams, AReceive_HasItsDataForWhatFollows_AndWritesItsStatus) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  const int peer = session.partner();
  ProgramStream stream;
  const StreamComm comm(stream);
  for (const Kind kind : {Kind::device, Kind::host}) {
    for (const int length : {0, 1, kBytes, 1 << 22}) {
      const auto size_bytes = static_cast<std::size_t>(length);
      const Memory memory = make(kind, std::max<std::size_t>(size_bytes, 1) + 64);
      memory.fill_pattern(session.rank(), length + 2);
      if (session.begins()) {
        EXPECT_MPI(enqueue().send(memory.data(), length, MPI_BYTE, peer, kTag, comm.get()));
        stream.synchronize();
        continue;
      }
      const Bytes before = memory.read();
      MPI_Status status;
      std::memset(&status, 0x5a, sizeof status);
      EXPECT_MPI(enqueue().recv(memory.data(), length + 64, MPI_BYTE, peer, kTag, comm.get(), &status));
      const Memory landed = make(Kind::pinned, memory.size_bytes());
      if (kind == Kind::device) stream.copy(landed.data(), memory.data(), memory.size_bytes());
      stream.synchronize();
      expect_status(status, peer, kTag, length);
      Bytes got = kind == Kind::device ? landed.read() : memory.read();
      // Behind the message nothing has changed.
      EXPECT_TRUE(std::equal(got.begin() + length, got.end(), before.begin() + length));
      got.resize(size_bytes);
      EXPECT_EQ(find_pattern_error(got, peer, length + 2), "") << length;
    }
  }
}

// The first receive comes last: a wait for all that was started would never end.
TEST(CommStreams, AWait_IsForItsOwnMessages) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  const int peer = session.partner();
  const std::array<Memory, 3> memories = {make(Kind::device), make(Kind::device), make(Kind::device)};
  ProgramStream stream;
  const StreamComm comm(stream);
  if (session.begins()) {
    for (const Memory &memory : memories) memory.fill_pattern(session.rank(), 3);
    std::array<MPI_Request, 3> requests{};
    EXPECT_MPI(enqueue().irecv(memories[0].data(), kBytes, MPI_BYTE, peer, kTag, comm.get(), &requests[0]));
    for (const int k : {1, 2}) {
      const auto at = static_cast<std::size_t>(k);
      EXPECT_MPI(enqueue().isend(memories[at].data(), kBytes, MPI_BYTE, peer, kTag + k, comm.get(), &requests[at]));
      EXPECT_MPI(enqueue().wait(&requests[at], MPI_STATUS_IGNORE));
      EXPECT_EQ(requests[at], MPI_REQUEST_NULL);
    }
    MPI_Status status;
    EXPECT_MPI(enqueue().wait(&requests[0], &status));
    EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
    stream.synchronize();
    expect_status(status, peer, kTag, kBytes);
    EXPECT_EQ(find_pattern_error(memories[0].read(), peer, 4), "");
  } else {
    memories[0].fill_pattern(session.rank(), 4);
    for (const int k : {1, 2}) {
      EXPECT_MPI(enqueue().recv(memories[static_cast<std::size_t>(k)].data(), kBytes, MPI_BYTE, peer, kTag + k,
                                comm.get(), MPI_STATUS_IGNORE));
    }
    EXPECT_MPI(enqueue().send(memories[0].data(), kBytes, MPI_BYTE, peer, kTag, comm.get()));
    stream.synchronize();
    for (const int k : {1, 2}) {
      EXPECT_EQ(find_pattern_error(memories[static_cast<std::size_t>(k)].read(), peer, 3), "") << k;
    }
  }
}

// Many messages, awaited in another order than they were started in, some together and some by MPI itself.
TEST(CommStreams, WaitsInAnyOrder) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  const int peer = session.partner();
  constexpr std::size_t kMessages = 6;
  ProgramStream stream;
  const StreamComm comm(stream);
  std::vector<Memory> out;
  std::vector<Memory> in;
  for (std::size_t k = 0; k < kMessages; ++k) {
    out.push_back(make(Kind::device, 4096 + (k << 12U)));
    in.push_back(make(Kind::device, 4096 + (k << 12U)));
  }
  for (int iteration = 0; iteration < 20; ++iteration) {
    std::vector<MPI_Request> requests;
    for (std::size_t k = 0; k < kMessages; ++k) {
      const int length = static_cast<int>(out[k].size_bytes());
      out[k].fill_pattern(session.rank(), iteration + static_cast<int>(k));
      in[k].fill_pattern(session.rank(), 99);
      const int tag = kTag + static_cast<int>(k / 2);  // pairs match in the order of their calls
      requests.push_back(MPI_REQUEST_NULL);
      EXPECT_MPI(enqueue().irecv(in[k].data(), length, MPI_BYTE, peer, tag, comm.get(), &requests.back()));
      requests.push_back(MPI_REQUEST_NULL);
      EXPECT_MPI(enqueue().isend(out[k].data(), length, MPI_BYTE, peer, tag, comm.get(), &requests.back()));
    }
    std::rotate(requests.begin(), requests.begin() + iteration % 12, requests.end());
    if (iteration % 2 == 1) std::ranges::reverse(requests);
    EXPECT_MPI(enqueue().wait(&requests[3], MPI_STATUS_IGNORE));
    std::array<MPI_Status, 6> statuses{};
    EXPECT_MPI(enqueue().waitall(6, &requests[1], statuses.data()));
    EXPECT_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    EXPECT_MPI(enqueue().waitall(5, &requests[7], MPI_STATUSES_IGNORE));
    stream.synchronize();
    EXPECT_EQ(statuses[2].MPI_SOURCE, MPI_ANY_SOURCE) << "of MPI_REQUEST_NULL";
    for (const MPI_Request request : requests) EXPECT_EQ(request, MPI_REQUEST_NULL);
    for (std::size_t k = 0; k < kMessages; ++k) {
      EXPECT_EQ(find_pattern_error(in[k].read(), peer, iteration + static_cast<int>(k)), "") << iteration << ", " << k;
    }
  }
}

TEST(CommStreams, Wildcards_AndLongCounts_AndTypesWithGaps) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  const int peer = session.partner();
  ProgramStream stream;
  const StreamComm comm(stream);
  MPI_Datatype column = MPI_DATATYPE_NULL;
  EXPECT_MPI(MPI_Type_vector(101, 8, 32, MPI_BYTE, &column));
  EXPECT_MPI(MPI_Type_commit(&column));
  const std::size_t size_bytes = 101 * 32;
  const Memory memory = make(Kind::device, size_bytes);
  memory.fill_pattern(session.rank(), 5);
  if (session.begins()) {
    EXPECT_MPI(enqueue().send_c(memory.data(), 1, column, peer, kTag, comm.get()));
    EXPECT_MPI(MPI_Type_free(&column));
    stream.synchronize();
  } else {
    Bytes expected = memory.read();
    MPI_Status status;
    EXPECT_MPI(enqueue().recv_c(memory.data(), 1, column, MPI_ANY_SOURCE, MPI_ANY_TAG, comm.get(), &status));
    EXPECT_MPI(MPI_Type_free(&column));
    stream.synchronize();
    expect_status(status, peer, kTag, 101 * 8);
    const Memory sent = make(Kind::host, size_bytes);
    sent.fill_pattern(peer, 5);
    const Bytes from = sent.read();
    for (std::size_t row = 0; row < 101; ++row) {
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row * 32), 8,
                  expected.begin() + static_cast<std::ptrdiff_t>(row * 32));
    }
    EXPECT_EQ(memory.read(), expected);
  }
}

// Each sum is what the next one takes, with nothing of the host's between.
TEST(CommStreams, Reductions_AreThoseOfTheHostMpi) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  constexpr int kCount = 7013;
  std::vector<unsigned> own(kCount);
  std::vector<unsigned> expected(kCount);
  for (unsigned k = 0; k < kCount; ++k) own[k] = k * 2654435761U + static_cast<unsigned>(session.rank());
  const auto sum = host_function("PMPI_Allreduce", &PMPI_Allreduce);
  EXPECT_MPI(sum(own.data(), expected.data(), kCount, MPI_UNSIGNED, MPI_SUM, session.comm()));
  EXPECT_MPI(sum(MPI_IN_PLACE, expected.data(), kCount, MPI_UNSIGNED, MPI_SUM, session.comm()));
  const Memory from = make(Kind::device, sizeof(unsigned) * kCount);
  const Memory to = make(Kind::device, sizeof(unsigned) * kCount);
  Bytes bytes(sizeof(unsigned) * kCount);
  std::memcpy(bytes.data(), own.data(), bytes.size());
  from.write(0, bytes.data(), bytes.size());
  ProgramStream stream;
  const StreamComm comm(stream);
  EXPECT_MPI(enqueue().allreduce(from.data(), to.data(), kCount, MPI_UNSIGNED, MPI_SUM, comm.get()));
  EXPECT_MPI(enqueue().allreduce(MPI_IN_PLACE, to.data(), kCount, MPI_UNSIGNED, MPI_SUM, comm.get()));
  stream.synchronize();
  std::memcpy(bytes.data(), expected.data(), bytes.size());
  EXPECT_EQ(to.read(), bytes);
  // An element with a gap; the place of the least.
  struct Pair {
    short value;
    int rank;
  };
  std::vector<Pair> pairs(100);
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const bool is_least = static_cast<int>(k) % session.size() == session.rank();
    pairs[k] = {static_cast<short>(is_least ? -7 : session.rank()), session.rank()};
  }
  const Memory on_device = make(Kind::device, sizeof(Pair) * pairs.size());
  on_device.write(0, pairs.data(), on_device.size_bytes());
  EXPECT_MPI(enqueue().allreduce(MPI_IN_PLACE, on_device.data(), 100, MPI_SHORT_INT, MPI_MINLOC, comm.get()));
  stream.synchronize();
  const Bytes least = on_device.read();
  std::memcpy(pairs.data(), least.data(), least.size());
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    EXPECT_EQ(pairs[k].value, -7) << k;
    EXPECT_EQ(pairs[k].rank, static_cast<int>(k) % session.size()) << k;
  }
}

TEST(CommStreams, Duplicates_HaveTheStream_AndAFreedStreamGoesOn) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory memory = make(Kind::device);
  ProgramStream stream;
  MPI_Comm copies[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
  {
    StreamComm comm(stream);
    MPIX_Stream found = MPIX_STREAM_NULL;
    EXPECT_MPI(enqueue().get_stream(comm.get(), 0, &found));
    EXPECT_EQ(found, comm.stream());
    EXPECT_MPI(enqueue().get_stream(comm.get(), 1, &found));
    EXPECT_EQ(found, MPIX_STREAM_NULL);
    EXPECT_MPI(MPI_Comm_dup(comm.get(), &copies[0]));
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_MPI(MPI_Comm_idup(comm.get(), &copies[1], &request));
    EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (MPI_Comm copy : copies) {
      EXPECT_MPI(enqueue().get_stream(copy, 0, &found));
      EXPECT_EQ(found, comm.stream());
    }
  }
  for (MPI_Comm &copy : copies) {
    memory.fill_pattern(session.rank(), 6);
    if (session.begins()) {
      EXPECT_MPI(enqueue().send(memory.data(), kBytes, MPI_BYTE, peer, kTag, copy));
      stream.synchronize();
    } else {
      EXPECT_MPI(enqueue().recv(memory.data(), kBytes, MPI_BYTE, peer, kTag, copy, MPI_STATUS_IGNORE));
      stream.synchronize();
      EXPECT_EQ(find_pattern_error(memory.read(), peer, 6), "");
    }
    EXPECT_MPI(MPI_Comm_free(&copy));
  }
}

TEST(CommStreams, SeveralStreams_OfACommunicator) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  EXPECT_MPI(MPI_Get_library_version(version, &length));
  if (std::string(version).find("5.0.2") != std::string::npos) {
    GTEST_SKIP() << "missing: MPIX_Stream_comm_create_multiplex of MPICH 5.0.2, which ends the program by an assertion";
  }
  ProgramStream stream;
  const StreamComm comm(stream);
  std::array<MPIX_Stream, 2> both = {MPIX_STREAM_NULL, comm.stream()};
  MPI_Comm multiplex = MPI_COMM_NULL;
  EXPECT_MPI(enqueue().comm_create_multiplex(session.comm(), 2, both.data(), &multiplex));
  MPIX_Stream found = MPIX_STREAM_NULL;
  EXPECT_MPI(enqueue().get_stream(multiplex, 1, &found));
  EXPECT_EQ(found, comm.stream());
  EXPECT_EQ(class_of(enqueue().send(&found, 1, MPI_BYTE, MPI_PROC_NULL, kTag, multiplex)), MPI_ERR_ARG);
  EXPECT_MPI(MPI_Comm_free(&multiplex));
}

// A program may free the communicator behind its last call, without a look at the stream.
TEST(CommStreams, FreeingTheCommunicator_LosesNothing) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  const int peer = session.partner();
  for (int iteration = 0; iteration < 5; ++iteration) {
    const Memory memory = make(Kind::device);
    memory.fill_pattern(session.rank(), 7 + iteration);
    ProgramStream stream;
    StreamComm comm(stream);
    if (session.begins()) {
      EXPECT_MPI(enqueue().send(memory.data(), kBytes, MPI_BYTE, peer, kTag, comm.get()));
    } else {
      EXPECT_MPI(enqueue().recv(memory.data(), kBytes, MPI_BYTE, peer, kTag, comm.get(), MPI_STATUS_IGNORE));
    }
    comm.free(iteration % 2 == 0 ? &MPI_Comm_free : &MPI_Comm_disconnect);
    stream.synchronize();
    if (session.begins()) continue;
    EXPECT_EQ(find_pattern_error(memory.read(), peer, 7 + iteration), "");
  }
}

// The communicator may go first: the message is complete then, and the request has its data.
TEST(CommStreams, ARequest_OutlivesItsCommunicator) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory memory = make(Kind::device);
  memory.fill_pattern(session.rank(), 20);
  ProgramStream stream;
  for (const bool is_by_mpi : {true, false}) {
    StreamComm comm(stream);
    MPI_Request request = MPI_REQUEST_NULL;
    if (session.begins()) {
      EXPECT_MPI(enqueue().isend(memory.data(), kBytes, MPI_BYTE, peer, kTag, comm.get(), &request));
    } else {
      EXPECT_MPI(enqueue().irecv(memory.data(), kBytes, MPI_BYTE, peer, kTag, comm.get(), &request));
    }
    comm.free(&MPI_Comm_free);
    MPI_Status status;
    EXPECT_MPI(is_by_mpi ? MPI_Wait(&request, &status) : enqueue().wait(&request, &status));
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    if (session.begins()) continue;
    EXPECT_EQ(status.MPI_SOURCE, peer);
    EXPECT_EQ(find_pattern_error(memory.read(), peer, 20), "");
    memory.fill_pattern(session.rank(), 21);
  }
}

// The stream passes, the status says it, and what comes behind is whole.
TEST(CommStreams, AnErrorOfAMessage_IsInItsStatus_AndTheStreamGoesOn) {
  SKIP_WITHOUT_STREAMS();
  const Session &session = Session::get();
  const int peer = session.partner();
  const Memory memory = make(Kind::device);
  const Memory second = make(Kind::device);
  memory.fill_pattern(session.rank(), 8);
  second.fill_pattern(session.rank(), 9);
  ProgramStream stream;
  const StreamComm comm(stream);
  if (session.begins()) {
    EXPECT_MPI(enqueue().send(memory.data(), kBytes, MPI_BYTE, peer, kTag, comm.get()));
    EXPECT_MPI(enqueue().send(second.data(), kBytes, MPI_BYTE, peer, kTag, comm.get()));
    stream.synchronize();
  } else {
    MPI_Status status;
    EXPECT_MPI(enqueue().recv(memory.data(), kBytes - 1, MPI_BYTE, peer, kTag, comm.get(), &status));
    EXPECT_MPI(enqueue().recv(second.data(), kBytes, MPI_BYTE, peer, kTag, comm.get(), MPI_STATUS_IGNORE));
    stream.synchronize();
    EXPECT_EQ(class_of(status.MPI_ERROR), MPI_ERR_TRUNCATE);
    EXPECT_EQ(find_pattern_error(second.read(), peer, 9), "");
  }
}

}  // namespace sluice::tests::comm_streams_test
