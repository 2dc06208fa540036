// SPDX-License-Identifier: BSD-3-Clause
// Several threads, each with a queue and a stream of its own, and several with one queue between them.
#include <barrier>
#include <thread>
#include <vector>

#include "tests/ranks/queue/functions.hpp"

namespace sluice::tests::threads_test {
namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 4;
constexpr int kBytes = 2003;

// Memory and streams are made before any stream waits, and freed when none does: a runtime may hold up whoever does so
// meanwhile until that stream goes on, here and at the partner's in another order (docs/queue/guide.md).
void exchange(int thread, std::barrier<> *all) {
  const Session &session = Session::get();
  const Memory in(session.module(), Kind::device, kBytes);
  const Memory out(session.module(), Kind::device, kBytes);
  ProgramStream stream;
  TestQueue queue(stream);
  all->arrive_and_wait();
  for (int round = 0; round < kRounds; ++round) {
    out.fill_pattern(session.rank(), thread * kRounds + round);
    queue.recv(in.data(), kBytes, 60 + thread, session.partner());
    queue.send(out.data(), kBytes, 60 + thread, session.partner());
    queue.start();
    queue.wait();
    stream.synchronize();
    EXPECT_EQ(find_pattern_error(in.read(), session.partner(), thread * kRounds + round), "");
  }
  queue.complete();
  all->arrive_and_wait();
}

}  // namespace

TEST(QueueThreads, EachWithAQueueOfItsOwn) {
  SKIP_WITHOUT_QUEUES();
  std::barrier<> all(kThreads);
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k) threads.emplace_back(exchange, k, &all);
  for (std::thread &thread : threads) thread.join();
}

// One queue: each call is whole, and whoever starts starts what all have enqueued.
TEST(QueueThreads, AllWithOneQueue) {
  SKIP_WITHOUT_QUEUES();
  const Session &session = Session::get();
  ProgramStream stream;
  MPIX_Queue queue = MPIX_QUEUE_NULL;
  EXPECT_MPI(mpix().create(session.comm(), stream.native(), &queue));
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k) {
    threads.emplace_back([&, k] {
      const Memory in(session.module(), Kind::device, kBytes);
      const Memory out(session.module(), Kind::device, kBytes);
      for (int round = 0; round < kRounds; ++round) {
        out.fill_pattern(session.rank(), k * kRounds + round);
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        EXPECT_MPI(mpix().recv(in.data(), kBytes, MPI_BYTE, session.partner(), 70 + k, queue, &requests[0]));
        EXPECT_MPI(mpix().send(out.data(), kBytes, MPI_BYTE, session.partner(), 70 + k, queue, &requests[1]));
        EXPECT_MPI(mpix().start(queue));
        EXPECT_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        EXPECT_EQ(find_pattern_error(in.read(), session.partner(), k * kRounds + round), "");
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  stream.synchronize();
  EXPECT_MPI(mpix().free(queue));
}

}  // namespace sluice::tests::threads_test
