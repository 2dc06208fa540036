// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication: partitions made ready in any order and by any thread, seen one at a time or all at once.
#include <gtest/gtest.h>
#include <mpi.h>

#if MPI_VERSION < 4

TEST(Partitioned, NeedsAnMpiOfVersion4) {
  GTEST_SKIP() << "this host MPI has no partitioned communication (MPI_Psend_init)";
}

#else

#include <algorithm>
#include <atomic>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/ranks/p2p/partitioned_exchange.hpp"
#include "tests/support/completers.hpp"
#include "tests/support/host_mpi.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::partitioned_test {
namespace {

constexpr int kRounds = 3;

// What a round does between its start and its end, and then.
struct Steps {
  std::function<void(Exchange &, int round)> ready = nullptr;     // makes all partitions ready; null: one by one
  std::function<void(Exchange &, int round)> await = nullptr;     // sees partitions before the completion call
  std::function<void(Exchange &, int round)> complete = nullptr;  // null: MPI_Waitall
  std::function<void(Exchange &, int round)> check = nullptr;
};

// Every partition once, not in order.
void ready_one_by_one(Exchange &exchange, int n_partitions) {
  for (int i = 0; i < n_partitions; ++i) {
    const int partition = (i * 2 + (i * 2 >= n_partitions ? 1 - n_partitions % 2 : 0)) % n_partitions;
    exchange.run->call("MPI_Pready", MPI_Pready(partition, exchange.requests[1]));
  }
}

void run_rounds(Exchange exchange, int n_sent, const Steps &steps) {
  Trial &run = *exchange.run;
  for (int round = 0; round < kRounds; ++round) {
    run.refill(*exchange.in, round);
    run.call("MPI_Startall", MPI_Startall(2, exchange.requests.data()));
    steps.ready ? steps.ready(exchange, round) : ready_one_by_one(exchange, n_sent);
    if (steps.await) steps.await(exchange, round);
    if (steps.complete) {
      steps.complete(exchange, round);
    } else {
      run.call("MPI_Waitall", MPI_Waitall(2, exchange.requests.data(), MPI_STATUSES_IGNORE));
    }
    run.note("receive stays persistent", exchange.requests[0] != MPI_REQUEST_NULL ? 1 : 0);
    run.note("send stays persistent", exchange.requests[1] != MPI_REQUEST_NULL ? 1 : 0);
    if (steps.check) {
      steps.check(exchange, round);
    } else {
      run.expect_pattern(*exchange.out, Session::get().partner(), round, exchange.out->size_bytes());
    }
    if (round + 1 < kRounds) exchange.out->fill(kPoison);
  }
  free_requests(exchange);
}

void exchange_bytes(Trial &run, std::size_t partition_bytes, const Steps &steps) {
  const Memory &in = run.input(kPartitions * partition_bytes);
  const Memory &out = run.output(kPartitions * partition_bytes);
  run_rounds(init(run, in, bytes(partition_bytes), out, bytes(partition_bytes)), kPartitions, steps);
}

void wait_for(Exchange &exchange, int partition) {
  exchange.run->call("MPI_Parrived", ask_for(exchange.requests[0], partition));
}

TEST(Partitioned, DeliversNewPartitions_AtEveryStart) {
  compare_each_case(Breadth::narrow, [](Trial &run, const Case &c) { exchange_bytes(run, c.size_bytes, {}); });
}

TEST(Partitioned, DeliversPartitions_MadeReadyAsRangeAndList) {
  compare_each_case(Breadth::narrow, {1, 5000, 70'000}, [](Trial &run, const Case &c) {
    Steps steps;
    steps.ready = [](Exchange &exchange, int /*round*/) {
      int list[] = {3, 0};
      exchange.run->call("MPI_Pready_range", MPI_Pready_range(1, 2, exchange.requests[1]));
      exchange.run->call("MPI_Pready_list", MPI_Pready_list(2, list, exchange.requests[1]));
    };
    exchange_bytes(run, c.size_bytes, steps);
  });
}

TEST(Partitioned, DeliversAll_WhenTheSidesCutDifferently) {
  constexpr int kPairs[][2] = {{1, 12}, {12, 1}, {3, 2}, {2, 3}};
  compare_each_case(Breadth::narrow, {1, 25'000}, [&](Trial &run, const Case &c) {
    for (const auto &[n_sent, n_received] : kPairs) {
      const Memory &in = run.input(12 * c.size_bytes);
      const Memory &out = run.output(12 * c.size_bytes);
      const auto cut = [&](int n) { return bytes(12 / static_cast<std::size_t>(n) * c.size_bytes, n); };
      Steps steps;
      steps.await = [last = n_received - 1](Exchange &exchange, int round) {
        if (round == 0) wait_for(exchange, last);
      };
      run_rounds(init(run, in, cut(n_sent), out, cut(n_received)), n_sent, steps);
    }
  });
}

TEST(Partitioned, ShowsAPartition_OnceParrivedSaysSo) {
  compare_each_case(Breadth::narrow, {1, 5000, 70'000}, [](Trial &run, const Case &c) {
    Steps steps;
    steps.await = [&](Exchange &exchange, int round) {
      for (int partition = 0; partition < kPartitions; ++partition) {
        wait_for(exchange, partition);
        const auto n_seen = static_cast<std::size_t>(partition) + 1;
        exchange.run->expect_pattern(*exchange.out, Session::get().partner(), round, n_seen * c.size_bytes);
      }
    };
    exchange_bytes(run, c.size_bytes, steps);
  });
}

// What the program has taken over after MPI_Parrived is its own: completion must not write it again.
TEST(Partitioned, LeavesASeenPartitionAlone_WhenTheRequestCompletes) {
  compare_each_case(Breadth::narrow, {5000}, [](Trial &run, const Case &c) {
    const Bytes mark(c.size_bytes, 0x11);
    Steps steps;
    steps.await = [&](Exchange &exchange, int /*round*/) {
      wait_for(exchange, 1);
      exchange.out->write(c.size_bytes, mark.data(), mark.size());
    };
    steps.check = [&](Exchange &exchange, int round) {
      exchange.run->expect_pattern(*exchange.out, Session::get().partner(), round, c.size_bytes);
      EXPECT_EQ(exchange.out->read(c.size_bytes, c.size_bytes), mark) << "the seen partition was written again";
    };
    exchange_bytes(run, c.size_bytes, steps);
  });
}

TEST(Partitioned, IsComplete_WithEachCompletionFunction) {
  compare_each_case(Breadth::narrow, {5000}, [](Trial &run, const Case &c) {
    for (const Completer &completer : completers()) {
      if (fails_in_testall_of_partitions() && std::string_view(completer.name) == "MPI_Testall") {
        continue;
      }
      SCOPED_TRACE(completer.name);
      Steps steps;
      steps.complete = [&](Exchange &exchange, int /*round*/) {
        completer.complete(*exchange.run, exchange.requests, nullptr);
      };
      exchange_bytes(run, c.size_bytes, steps);
    }
  });
}

TEST(Partitioned, ShowsAll_WhenRequestGetStatusSaysSo) {
  compare_each_case(Breadth::narrow, {5000}, [](Trial &run, const Case &c) {
    Steps steps;
    steps.await = [&](Exchange &exchange, int round) {
      int is_done = 0;
      int code = MPI_SUCCESS;
      while (is_done == 0 && code == MPI_SUCCESS) {
        code = MPI_Request_get_status(exchange.requests[0], &is_done, MPI_STATUS_IGNORE);
      }
      exchange.run->call("MPI_Request_get_status", code);
      exchange.run->expect_pattern(*exchange.out, Session::get().partner(), round, kPartitions * c.size_bytes);
    };
    exchange_bytes(run, c.size_bytes, steps);
  });
}

// An inactive receive has all of its partitions; what was received before must not come up again.
TEST(Partitioned, LeavesTheBufferAlone_WhenInactive) {
  if (refuses_parrived_of_inactive()) {
    GTEST_SKIP() << "this host MPI refuses MPI_Parrived of an inactive request";
  }
  compare_each_case(Breadth::narrow, {5000}, [](Trial &run, const Case &c) {
    Steps steps;
    steps.check = [&](Exchange &exchange, int /*round*/) {
      exchange.out->fill(kPoison);
      wait_for(exchange, 2);
      EXPECT_EQ(exchange.out->read(), Bytes(exchange.out->size_bytes(), kPoison));
    };
    exchange_bytes(run, c.size_bytes, steps);
  });
}

// Elements of two runs of bytes with a gap between them and one behind.
TEST(Partitioned, LeavesGapsUntouched) {
  constexpr MPI_Aint kExtent = 24;
  constexpr int kElements = 5;
  MPI_Datatype gapped = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_vector(2, 5, 11, MPI_BYTE, &gapped), MPI_SUCCESS);
  MPI_Datatype padded = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_create_resized(gapped, 0, kExtent, &padded), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&padded), MPI_SUCCESS);
  compare_each_case(Breadth::narrow, {1, 300}, [&](Trial &run, const Case &c) {
    const auto n_elements = static_cast<std::size_t>(kElements) * c.size_bytes;
    const Memory &in = run.input(kPartitions * n_elements * kExtent);
    const Memory &out = run.output(kPartitions * n_elements * kExtent);
    const Cut cut{kPartitions, static_cast<MPI_Count>(n_elements), padded};
    Steps steps;
    steps.check = [](Exchange & /*exchange*/, int /*round*/) {};  // the host run says what is right
    run_rounds(init(run, in, cut, out, cut), kPartitions, steps);
  });
  EXPECT_EQ(MPI_Type_free(&gapped), MPI_SUCCESS);
  EXPECT_EQ(MPI_Type_free(&padded), MPI_SUCCESS);
}

// Which receive gets which send is decided by the order in which both were made, not by that of their starts.
TEST(Partitioned, KeepTheOrderOfTheirInits_WithOneTagOnTwoCommunicators) {
  constexpr int kPairs = 4;
  MPI_Comm other = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(Session::get().comm(), &other), MPI_SUCCESS);
  compare_each_case(Breadth::narrow, {5000}, [&](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const auto count = static_cast<MPI_Count>(c.size_bytes);
    const Memory *in[kPairs] = {};
    const Memory *out[kPairs] = {};
    std::vector<MPI_Request> requests(2 * kPairs, MPI_REQUEST_NULL);
    for (int i = 0; i < kPairs; ++i) {
      in[i] = &run.input(kPartitions * c.size_bytes);
      out[i] = &run.output(kPartitions * c.size_bytes);
      MPI_Comm comm = i % 2 == 0 ? session.comm() : other;
      run.call("MPI_Precv_init",
               MPI_Precv_init(out[i]->data(), kPartitions, count, MPI_BYTE, session.partner(), kPartitionTag, comm,
                              MPI_INFO_NULL, &requests[static_cast<std::size_t>(i)]));
      run.call("MPI_Psend_init",
               MPI_Psend_init(in[i]->data(), kPartitions, count, MPI_BYTE, session.partner(), kPartitionTag, comm,
                              MPI_INFO_NULL, &requests[requests.size() / 2 + static_cast<std::size_t>(i)]));
    }
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i < kPairs; ++i) run.refill(*in[i], round * kPairs + i);
      for (std::size_t i = requests.size(); i-- > 0;) run.call("MPI_Start", MPI_Start(&requests[i]));
      for (int i = 0; i < kPairs; ++i) {
        MPI_Request &send = requests[requests.size() / 2 + static_cast<std::size_t>((i + round) % kPairs)];
        run.call("MPI_Pready_range", MPI_Pready_range(0, kPartitions - 1, send));
      }
      run.call("MPI_Waitall", MPI_Waitall(2 * kPairs, requests.data(), MPI_STATUSES_IGNORE));
      for (int i = 0; i < kPairs; ++i) {
        run.expect_pattern(*out[i], session.partner(), round * kPairs + i, out[i]->size_bytes());
      }
    }
    for (MPI_Request &request : requests) run.call("MPI_Request_free", MPI_Request_free(&request));
  });
  EXPECT_EQ(MPI_Comm_free(&other), MPI_SUCCESS);
}

// One side is a whole phase ahead of the other, in each of the two ways.
TEST(Partitioned, Deliver_WhenOneSideComesLate) {
  compare_each_case(Breadth::narrow, {1, 5000, 70'000}, [](Trial &run, const Case &c) {
    const Session &session = Session::get();
    const Memory &in = run.input(kPartitions * c.size_bytes);
    const Memory &out = run.output(kPartitions * c.size_bytes);
    Exchange exchange = init(run, in, bytes(c.size_bytes), out, bytes(c.size_bytes));
    for (int round = 0; round < 2 * kRounds; ++round) {
      run.refill(in, round);
      const int first = round % 2;
      run.call("MPI_Start", MPI_Start(&exchange.requests[static_cast<std::size_t>(first)]));
      if (first == 1) ready_one_by_one(exchange, kPartitions);
      MPI_Barrier(session.comm());
      run.call("MPI_Start", MPI_Start(&exchange.requests[static_cast<std::size_t>(1 - first)]));
      if (first == 0) ready_one_by_one(exchange, kPartitions);
      MPI_Status statuses[2];
      run.call("MPI_Waitall", MPI_Waitall(2, exchange.requests.data(), statuses));
      run.expect_pattern(out, session.partner(), round, out.size_bytes());
      out.fill(kPoison);
    }
    free_requests(exchange);
  });
}

class PartitionedThreads : public testing::Test {
 protected:
  void SetUp() override {
    if (!Session::get().options().wants_threads) {
      GTEST_SKIP() << "started without --threads";
    }
  }
};

// A trial is no thing for threads: each keeps the code of its own call.
void in_threads(Trial &run, const char *name, int n_threads, const std::function<int(int)> &call) {
  std::vector<int> codes(static_cast<std::size_t>(n_threads));
  std::vector<std::thread> threads;
  for (int i = 0; i < n_threads; ++i) {
    threads.emplace_back([&, i] { codes[static_cast<std::size_t>(i)] = call(i); });
  }
  for (std::thread &thread : threads) thread.join();
  for (const int code : codes) run.call(name, code);
}

TEST_F(PartitionedThreads, DeliverPartitions_EachMadeReadyAndSeenByAThreadOfItsOwn) {
  compare_each_case(Breadth::narrow, {5000}, [](Trial &run, const Case &c) {
    Steps steps;
    steps.ready = [](Exchange &exchange, int /*round*/) {
      in_threads(*exchange.run, "MPI_Pready", kPartitions,
                 [&](int partition) { return MPI_Pready(partition, exchange.requests[1]); });
    };
    steps.await = [](Exchange &exchange, int /*round*/) {
      // Two threads ask for each partition, so that some meet while it is brought up.
      in_threads(*exchange.run, "MPI_Parrived", 2 * kPartitions,
                 [&](int i) { return ask_for(exchange.requests[0], i / 2); });
    };
    exchange_bytes(run, c.size_bytes, steps);
  });
}

// Tests both requests until they are complete; says when it has begun.
int test_until_done(std::vector<MPI_Request> requests, std::atomic<bool> *has_begun) {
  for (MPI_Request &request : requests) {
    int is_done = 0;
    while (is_done == 0) {
      const int code = MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) return code;
      *has_begun = true;
      std::this_thread::yield();
    }
  }
  return MPI_SUCCESS;
}

// As the standard's examples have it: one thread waits for the whole while others make partitions ready and look for
// them.
TEST_F(PartitionedThreads, DeliverPartitions_WhileAnotherThreadCompletesTheRequest) {
  compare_each_case(Breadth::narrow, {5000}, [](Trial &run, const Case &c) {
    Steps steps;
    steps.ready = [](Exchange & /*exchange*/, int /*round*/) {};
    steps.complete = [](Exchange &exchange, int round) {
      std::atomic<bool> has_begun = false;
      in_threads(*exchange.run, "beside a completion call", kPartitions + 2, [&](int i) {
        if (i == 0) return test_until_done(exchange.requests, &has_begun);
        while (!has_begun) std::this_thread::yield();
        if (i > 1) return MPI_Pready(i - 2, exchange.requests[1]);
        // It may be complete by now, and then the answer is yes.
        return refuses_parrived_of_inactive() ? MPI_SUCCESS : ask_for(exchange.requests[0], round % kPartitions);
      });
    };
    exchange_bytes(run, c.size_bytes, steps);
  });
}

}  // namespace
}  // namespace sluice::tests::partitioned_test

#endif
