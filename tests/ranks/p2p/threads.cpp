// SPDX-License-Identifier: BSD-3-Clause
// MPI_THREAD_MULTIPLE: threads that send, receive, allocate and free at the same time. Started with --threads.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/support/completers.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::threads_test {
namespace {

constexpr int kThreads = 4;

class Threads : public testing::Test {
 protected:
  void SetUp() override {
    if (!Session::get().options().wants_threads) {
      GTEST_SKIP() << "started without --threads";
    }
  }
};

// GoogleTest's expectations are thread-safe; this keeps the first text of each thread short all the same.
struct Findings {
  std::string first;
  void require(bool is_good, const std::string &text) {
    if (!is_good && first.empty()) {
      first = text;
    }
  }
};

Kind kind_of(int round) {
  const auto &kinds = Session::get().kinds();
  return kinds[static_cast<std::size_t>(round) % kinds.size()];
}

std::size_t size_of(int round) {
  constexpr std::size_t kSizes[] = {8, 5000, 70'000, 1, 0, 4096};
  return kSizes[static_cast<std::size_t>(round) % (sizeof(kSizes) / sizeof(kSizes[0]))];
}

int iteration_of(int thread, int round) {
  return thread * 10'000 + round;
}

void check(Findings &findings, const Memory &out, int thread, int round) {
  const std::string error = find_pattern_error(out.read(), Session::get().partner(), iteration_of(thread, round));
  findings.require(error.empty(), error);
}

// One thread's exchange with the same thread of the partner, on its own tag.
void exchange_nonblocking(int thread, int round, Findings &findings) {
  const Session &session = Session::get();
  const std::size_t size_bytes = size_of(round + thread);
  const int count = static_cast<int>(size_bytes);
  const Memory in(session.module(), kind_of(round + thread), size_bytes);
  const Memory out(session.module(), kind_of(round / 2 + thread), size_bytes);
  in.fill_pattern(session.rank(), iteration_of(thread, round));
  MPI_Request requests[2] = {};
  MPI_Status statuses[2];
  int code = MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), thread, session.comm(), &requests[0]);
  findings.require(code == MPI_SUCCESS, "MPI_Irecv failed");
  code = MPI_Isend(in.data(), count, MPI_BYTE, session.partner(), thread, session.comm(), &requests[1]);
  findings.require(code == MPI_SUCCESS, "MPI_Isend failed");
  if (round % 2 == 0) {
    code = MPI_Waitall(2, requests, statuses);
    findings.require(code == MPI_SUCCESS, "MPI_Waitall failed");
  } else {
    for (int are_done = 0; are_done == 0;) {
      code = MPI_Testall(2, requests, &are_done, statuses);
      findings.require(code == MPI_SUCCESS, "MPI_Testall failed");
      std::this_thread::yield();
    }
  }
  int received = -1;
  MPI_Get_count(&statuses[0], MPI_BYTE, &received);
  findings.require(received == count && statuses[0].MPI_TAG == thread, "wrong status");
  check(findings, out, thread, round);
}

void exchange_blocking(int thread, int round, Findings &findings) {
  const Session &session = Session::get();
  const std::size_t size_bytes = size_of(round + thread);
  const int count = static_cast<int>(size_bytes);
  const Memory in(session.module(), kind_of(round + thread), size_bytes);
  const Memory out(session.module(), kind_of(round + thread + 1), size_bytes);
  in.fill_pattern(session.rank(), iteration_of(thread, round));
  in_turn(
      [&] {
        const int code = MPI_Send(in.data(), count, MPI_BYTE, session.partner(), thread, session.comm());
        findings.require(code == MPI_SUCCESS, "MPI_Send failed");
      },
      [&] {
        const int code =
            MPI_Recv(out.data(), count, MPI_BYTE, session.partner(), thread, session.comm(), MPI_STATUS_IGNORE);
        findings.require(code == MPI_SUCCESS, "MPI_Recv failed");
      });
  check(findings, out, thread, round);
}

using Exchange = void (*)(int, int, Findings &);

void run_threads(Exchange exchange) {
  const int n_rounds = Session::get().options().is_full ? 120 : 24;
  std::vector<Findings> findings(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < n_rounds; ++round) {
        exchange(thread, round, findings[static_cast<std::size_t>(thread)]);
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  for (const Findings &found : findings) {
    EXPECT_EQ(found.first, "");
  }
}

TEST_F(Threads, ExchangeDeviceBuffers_WithNonBlockingCalls) {
  run_threads(exchange_nonblocking);
}

TEST_F(Threads, ExchangeDeviceBuffers_WithBlockingCalls) {
  run_threads(exchange_blocking);
}

// One thread waits for requests that another one has started.
TEST_F(Threads, CompleteRequests_OfOtherThreads) {
  const Session &session = Session::get();
  for (int round = 0; round < 10; ++round) {
    const Kind kind = session.kinds().size() > 1 ? Kind::device : Kind::host;
    const std::size_t size_bytes = size_of(round);
    const int count = static_cast<int>(size_bytes);
    const Memory in(session.module(), kind, size_bytes);
    const Memory out(session.module(), kind, size_bytes);
    in.fill_pattern(session.rank(), iteration_of(0, round));
    MPI_Request requests[2] = {};
    std::thread starter([&] {
      MPI_Irecv(out.data(), count, MPI_BYTE, session.partner(), 17, session.comm(), &requests[0]);
      MPI_Isend(in.data(), count, MPI_BYTE, session.partner(), 17, session.comm(), &requests[1]);
    });
    starter.join();
    EXPECT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    Findings findings;
    check(findings, out, 0, round);
    EXPECT_EQ(findings.first, "");
  }
}

}  // namespace
}  // namespace sluice::tests::threads_test
