// SPDX-License-Identifier: BSD-3-Clause
// Collective operations in queues: started by the stream, complete before its wait, their results what the host MPI
// makes of host copies.
#include <array>
#include <cstring>
#include <vector>

#include "tests/ranks/queue/functions.hpp"
#include "tests/support/host_mpi.hpp"

namespace sluice::tests::collectives_test {
namespace {

constexpr int kCount = 7013;
constexpr int kHostTag = 95;
constexpr auto kBytes = static_cast<std::size_t>(kCount) * sizeof(int);

struct CollectiveFunctions {
  decltype(&MPIX_Enqueue_allreduce) allreduce = find<decltype(&MPIX_Enqueue_allreduce)>("MPIX_Enqueue_allreduce");
  decltype(&MPIX_Enqueue_bcast) bcast = find<decltype(&MPIX_Enqueue_bcast)>("MPIX_Enqueue_bcast");
  decltype(&MPIX_Enqueue_allgather) allgather = find<decltype(&MPIX_Enqueue_allgather)>("MPIX_Enqueue_allgather");
  decltype(&MPIX_Enqueue_barrier) barrier = find<decltype(&MPIX_Enqueue_barrier)>("MPIX_Enqueue_barrier");

 private:
  template <class Function>
  static Function find(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

const CollectiveFunctions &collective() {
  static const CollectiveFunctions functions;
  return functions;
}

Memory make(Kind kind, std::size_t size_bytes) {
  return {Session::get().module(), kind, size_bytes};
}

std::vector<int> numbers_in(const Memory &memory) {
  const Bytes bytes = memory.read();
  std::vector<int> numbers(bytes.size() / sizeof(int));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(int));
  return numbers;
}

// What the host MPI alone makes of host copies of what the ranks put in.
struct Oracle {
  std::vector<int> sum = std::vector<int>(kCount);
  std::vector<int> gathered;

  explicit Oracle(const std::vector<int> &own)
      : gathered(static_cast<std::size_t>(kCount) * static_cast<std::size_t>(Session::get().size())) {
    const MPI_Comm comm = Session::get().comm();
    EXPECT_MPI(
        host_function("PMPI_Allreduce", &PMPI_Allreduce)(own.data(), sum.data(), kCount, MPI_INT, MPI_SUM, comm));
    EXPECT_MPI(host_function("PMPI_Allgather", &PMPI_Allgather)(own.data(), kCount, MPI_INT, gathered.data(), kCount,
                                                                MPI_INT, comm));
  }
};

}  // namespace

// Each result is what the next one takes, with nothing of the host's between.
TEST(Collectives, AChain_NeedsNoHost) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const int last = session.size() - 1;
  for (const Kind kind : {Kind::device, Kind::host}) {
    const Memory own = make(kind, kBytes);
    const Memory sum = make(kind, kBytes);
    const Memory gathered = make(kind, kBytes * static_cast<std::size_t>(session.size()));
    const Memory spread = make(kind, kBytes);
    own.fill_pattern(session.rank(), 30);
    // Any bits: no sum, which might overflow.
    const std::vector<int> pattern = numbers_in(own);
    ProgramStream stream;
    TestQueue queue(stream);
    std::array<MPI_Request, 4> requests{};
    requests.fill(MPI_REQUEST_NULL);
    if (session.rank() == last) spread.fill_pattern(last, 31);
    EXPECT_MPI(collective().allreduce(own.data(), sum.data(), kCount, MPI_INT, MPI_BXOR, queue.get(), &requests[0]));
    EXPECT_MPI(mpix().start(queue.get()));
    EXPECT_MPI(mpix().wait(queue.get()));
    EXPECT_MPI(collective().allgather(sum.data(), kCount, MPI_INT, gathered.data(), kCount, MPI_INT, queue.get(),
                                      &requests[1]));
    EXPECT_MPI(collective().bcast(spread.data(), kCount, MPI_INT, last, queue.get(), &requests[2]));
    EXPECT_MPI(collective().barrier(queue.get(), &requests[3]));
    EXPECT_MPI(mpix().start(queue.get()));
    EXPECT_MPI(mpix().wait(queue.get()));
    const Memory landed = make(Kind::pinned, kBytes);
    if (kind == Kind::device) stream.copy(landed.data(), spread.data(), kBytes);
    stream.synchronize();
    std::vector<int> expected(kCount);
    EXPECT_MPI(host_function("PMPI_Allreduce", &PMPI_Allreduce)(pattern.data(), expected.data(), kCount, MPI_INT,
                                                                MPI_BXOR, session.comm()));
    EXPECT_EQ(numbers_in(sum), expected);
    const std::vector<int> all = numbers_in(gathered);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], expected[i % expected.size()]) << "element " << i;
    EXPECT_EQ(find_pattern_error(kind == Kind::device ? landed.read() : spread.read(), last, 31), "");
    EXPECT_MPI(MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE));
  }
}

TEST(Collectives, InPlaceAndBesideMessages) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const Memory sum = make(Kind::device, kBytes);
  const Memory gathered = make(Kind::device, kBytes * static_cast<std::size_t>(session.size()));
  const Memory in = make(Kind::device, kBytes);
  const Memory out = make(Kind::device, kBytes);
  out.fill_pattern(session.rank(), 40);
  std::vector<int> own(kCount);
  for (int i = 0; i < kCount; ++i) own[static_cast<std::size_t>(i)] = session.rank() * 1000 + i;
  const Oracle oracle(own);
  const Memory host = make(Kind::pinned, kBytes);
  std::memcpy(host.data(), own.data(), kBytes);
  ProgramStream stream;
  stream.copy(sum.data(), host.data(), kBytes);
  stream.copy(static_cast<std::byte *>(gathered.data()) + kBytes * static_cast<std::size_t>(session.rank()),
              host.data(), kBytes);
  TestQueue queue(stream);
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  queue.recv(in.data(), kCount, 3, session.partner(), MPI_INT);
  EXPECT_MPI(collective().allreduce(MPI_IN_PLACE, sum.data(), kCount, MPI_INT, MPI_SUM, queue.get(), &requests[0]));
  EXPECT_MPI(collective().allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gathered.data(), kCount, MPI_INT, queue.get(),
                                    &requests[1]));
  queue.send(out.data(), kCount, 3, session.partner(), MPI_INT);
  queue.start();
  queue.wait();
  stream.synchronize();
  EXPECT_EQ(numbers_in(sum), oracle.sum);
  EXPECT_EQ(numbers_in(gathered), oracle.gathered);
  EXPECT_EQ(find_pattern_error(in.read(), session.partner(), 40), "");
  EXPECT_MPI(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
  queue.complete();
}

// A barrier is none before the last stream has come to it.
TEST(Collectives, NothingEndsBeforeTheLastStreamComesToTheStart) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  ProgramStream stream;
  TestQueue queue(stream);
  MPI_Request request = MPI_REQUEST_NULL;
  if (session.rank() == 0) stream.close_gate();
  EXPECT_MPI(collective().barrier(queue.get(), &request));
  queue.start();
  queue.wait();
  stream.mark();
  if (session.rank() == 0) {
    for (int rank = 1; rank < session.size(); ++rank) {
      EXPECT_MPI(MPI_Recv(nullptr, 0, MPI_BYTE, rank, kHostTag, session.comm(), MPI_STATUS_IGNORE));
    }
    EXPECT_FALSE(stream.has_come());
    stream.open_gates();
  } else {
    for (int look = 0; look < 30; ++look) {
      int is_done = 1;
      EXPECT_MPI(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE));
      EXPECT_EQ(is_done, 0);
      EXPECT_FALSE(stream.has_come());
    }
    EXPECT_MPI(MPI_Send(nullptr, 0, MPI_BYTE, 0, kHostTag, session.comm()));
  }
  stream.synchronize();
  EXPECT_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

TEST(Collectives, BadInput_IsRefusedWhenItIsEnqueued) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  const Memory memory = make(Kind::device, kBytes);
  ProgramStream stream;
  MPI_Request request = MPI_REQUEST_NULL;
  {
    TestQueue queue(stream);
    const auto refused = [&](int code) { return class_of(code) == MPI_ERR_ARG && request == MPI_REQUEST_NULL; };
    EXPECT_TRUE(refused(collective().bcast(memory.data(), 1, MPI_INT, session.size(), queue.get(), &request)));
    EXPECT_TRUE(refused(collective().bcast(memory.data(), -1, MPI_INT, 0, queue.get(), &request)));
    EXPECT_TRUE(refused(collective().barrier(queue.get(), nullptr)));
    EXPECT_TRUE(refused(collective().barrier(MPIX_QUEUE_NULL, &request)));
  }
  MPIX_Queue queue = MPIX_QUEUE_NULL;
  EXPECT_MPI(mpix().create_of_stream(stream.native(), &queue));
  const int code = collective().barrier(queue, &request);
  EXPECT_EQ(class_of(code), MPI_ERR_ARG);
  EXPECT_NE(text_of(code).find("without a communicator"), std::string::npos) << text_of(code);
  EXPECT_MPI(mpix().free(queue));
}

}  // namespace sluice::tests::collectives_test
