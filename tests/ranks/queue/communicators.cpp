// SPDX-License-Identifier: BSD-3-Clause
// One queue for messages of many communicators, which come and go: what is remembered of one, by its handle, must not
// be believed of the next one that has the handle.
#include <vector>

#include "tests/ranks/queue/channel_case.hpp"

namespace sluice::tests::communicators_test {
namespace {

constexpr int kBytes = 3000;

// Every rank to every other, once; each receives what the others have filled with their rank in MPI_COMM_WORLD.
void exchange_with_all(const ProgramStream &stream, MPIX_Queue queue, MPI_Comm comm, bool is_reversed, int iteration) {
  const Session &session = Session::get();
  const Memory out = make_memory(Kind::device, kBytes);
  out.fill_pattern(session.rank(), iteration);
  int own = -1;
  EXPECT_MPI(MPI_Comm_rank(comm, &own));
  std::vector<Memory> in;
  std::vector<MPI_Request> requests;
  in.reserve(static_cast<std::size_t>(session.size()));
  for (int peer = 0; peer < session.size(); ++peer) {
    in.push_back(make_memory(Kind::device, kBytes));
    if (peer == own) continue;
    in.back().fill(kPoison);
    const auto index = static_cast<std::size_t>(peer);
    EXPECT_MPI(mpix().recv_on(in[index].data(), kBytes, MPI_BYTE, peer, kTag, comm, queue, &requests.emplace_back()));
    EXPECT_MPI(mpix().send_on(out.data(), kBytes, MPI_BYTE, peer, kTag, comm, queue, &requests.emplace_back()));
  }
  EXPECT_MPI(mpix().start(queue));
  EXPECT_MPI(mpix().wait(queue));
  stream.synchronize();
  EXPECT_MPI(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  for (int peer = 0; peer < session.size(); ++peer) {
    if (peer == own) continue;
    const int sender = is_reversed ? session.size() - 1 - peer : peer;
    EXPECT_EQ(find_pattern_error(in[static_cast<std::size_t>(peer)].read(), sender, iteration), "")
        << "from " << peer << ", iteration " << iteration;
  }
}

TEST(Communicators, OfOneHandleAreNotTakenForEachOther) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  ProgramStream stream;
  MPIX_Queue queue = MPIX_QUEUE_NULL;
  EXPECT_MPI(mpix().create_of_stream(stream.native(), &queue));
  constexpr int kCommunicators = 6;
  for (int k = 0; k < kCommunicators; ++k) {
    const bool is_reversed = k % 2 != 0;
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT_MPI(MPI_Comm_split(session.comm(), 0, is_reversed ? -session.rank() : session.rank(), &comm));
    // Twice: the second time by what is remembered.
    exchange_with_all(stream, queue, comm, is_reversed, 2 * k);
    exchange_with_all(stream, queue, comm, is_reversed, 2 * k + 1);
    EXPECT_MPI(MPI_Comm_free(&comm));
  }
  EXPECT_MPI(mpix().free(queue));
}

}  // namespace
}  // namespace sluice::tests::communicators_test
