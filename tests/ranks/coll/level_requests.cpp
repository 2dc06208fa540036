// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking and persistent MPI_Allreduce on several nodes in two levels: that they go so, several under way, in any
// company, completed in any order; that all ranks decide alike; and that no program has to make a blocking call first.
// Started as levels.cpp says, with coll_reduce_threshold=0.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/ranks/coll/level_sum.hpp"
#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/placement.hpp"
#include "tests/ranks/coll/reduction_types.hpp"

namespace sluice::tests::level_requests_test {
namespace {

// More than a board has slots.
constexpr int kUnderWay = 9;
constexpr int kCount = Sum::kUsualCount;

class LevelRequests : public testing::Test {
 protected:
  void SetUp() override {
    if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    const char *mode = std::getenv("SLUICE_COLL_IPC");
    if (mode == nullptr || std::string_view(mode) != "always" || session_.size() < 3) {
      GTEST_SKIP() << "missing: SLUICE_COLL_IPC=always, or three ranks";
    }
    placement_ = find_placement();
    if (placement_.n_nodes < 2) GTEST_SKIP() << "missing: two hosts, or SLUICE_NODE, different on some ranks";
    const int own = placement_.node[static_cast<std::size_t>(session_.rank())];
    is_alone_ = std::count(placement_.node.begin(), placement_.node.end(), own) == 1;
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), MPI_SUCCESS);
    // However many communicators there have been: a blocking call makes what a call before it had a use for.
    Sum first(Kind::device, 10, 0, false);
    first.start(comm_);
    ASSERT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&first.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  }
  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) {
      EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
    }
  }

  // Calls in which this rank's device reduces inside its node; a rank that is alone there has none. Two buffers each.
  static long long node_steps() { return calls_by("MPI_Ireduce_scatter", "kernel") / 2; }
  void expect_steps(long long before, long long n_calls) const {
    if (is_alone_ || !session_.has_sluice()) return;
    EXPECT_EQ(node_steps() - before, n_calls) << "calls in two levels";
  }

  static void wait_in_an_order_of_its_own(std::vector<std::unique_ptr<Sum>> *all) {
    for (std::size_t i = 0; i < all->size(); ++i) {
      const std::size_t which = Session::get().rank() % 2 == 0 ? i : all->size() - 1 - i;
      ASSERT_EQ(MPI_Wait(&(*all)[which]->request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      (*all)[which]->check();
    }
  }

  const Session &session_ = Session::get();
  Placement placement_;
  bool is_alone_ = false;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

TEST_F(LevelRequests, GiveTheHostMpisResult_OfEachType) {
  std::size_t n_pairs = 0;
  for (const TypeCase &of : reduction_types()) {
    const NamedOp &op = of.ops[n_pairs++ % of.ops.size()];
    if (may_be_left_to_the_host(of, op)) continue;
    const bool is_in_place = n_pairs % 2 == 0;
    const int count = n_pairs % 3 == 0 ? 3 : n_pairs % 3 == 1 ? 65 : 5'001;
    SCOPED_TRACE(std::string(of.name) + " " + op.name + " " + std::to_string(count));
    const long long before = node_steps();
    compare_with_host({.send = Kind::device, .recv = Kind::device}, [&](Trial &run) {
      const auto size_bytes = static_cast<std::size_t>(count) * of.size_bytes;
      const Memory &in = run.buffer(run.send_kind(), size_bytes);
      const Memory &out = run.buffer(run.recv_kind(), size_bytes);
      Bytes bytes(size_bytes, 0);
      for (int i = 0; i < count; ++i) {
        of.make_exact(bytes.data() + static_cast<std::size_t>(i) * of.size_bytes, i, session_.rank());
      }
      in.write(0, bytes.data(), size_bytes);
      out.write(0, bytes.data(), size_bytes);
      MPI_Request request = MPI_REQUEST_NULL;
      run.call("MPI_Iallreduce", MPI_Iallreduce(is_in_place ? MPI_IN_PLACE : in.data(), out.data(), count, of.type,
                                                op.op, comm_, &request));
      run.call("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    });
    expect_steps(before, 1);
    if (HasFailure()) return;
  }
}

// Of numbers that are rounded: the blocking form's in every bit, as each slice is reduced in the same order.
TEST_F(LevelRequests, GiveTheBlockingFormsResult_InEveryBit) {
  for (const int count : {3, 1'000, 33'333}) {
    const auto size_bytes = static_cast<std::size_t>(count) * sizeof(float);
    const Memory in(session_.module(), Kind::device, size_bytes);
    const Memory blocking(session_.module(), Kind::device, size_bytes);
    const Memory other(session_.module(), Kind::device, size_bytes);
    std::vector<float> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(rounded_number<float>(i, session_.rank()));
    in.write(0, numbers.data(), size_bytes);
    ASSERT_EQ(MPI_Allreduce(in.data(), blocking.data(), count, MPI_FLOAT, MPI_SUM, comm_), MPI_SUCCESS);
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_Iallreduce(in.data(), other.data(), count, MPI_FLOAT, MPI_SUM, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(find_difference(blocking.read(), other.read()), "") << count << " elements";
  }
}

TEST_F(LevelRequests, ComeInAnyOrder_WhenSeveralAreUnderWay) {
  for (int pass = 0; pass < 3; ++pass) {
    const long long before = node_steps();
    std::vector<std::unique_ptr<Sum>> all;
    for (int i = 0; i < kUnderWay; ++i) {
      all.push_back(std::make_unique<Sum>(Kind::device, kCount + i * 501, pass * 20 + i, i % 2 == 1));
      all.back()->start(comm_);
    }
    wait_in_an_order_of_its_own(&all);
    expect_steps(before, kUnderWay);
    if (HasFailure()) return;
  }
}

// Blocking reductions in two levels among them, other calls with requests, messages, sums of which one rank has host
// memory, and such as are too short to count.
TEST_F(LevelRequests, KeepTheirOrder_InMixedCompany) {
  const long long before = node_steps();
  std::vector<std::unique_ptr<Sum>> all;
  std::vector<std::unique_ptr<Buffers>> gathered;
  std::vector<MPI_Request> others;
  std::vector<int> words(kUnderWay, -1);
  int n_in_levels = 0;
  const int next = (session_.rank() + 1) % session_.size();
  const int last = (session_.rank() + session_.size() - 1) % session_.size();
  for (int i = 0; i < kUnderWay; ++i) {
    const bool has_host = i % 3 == 1 && session_.rank() == i % session_.size();
    if (i % 3 != 1) ++n_in_levels;
    all.push_back(std::make_unique<Sum>(has_host ? Kind::host : Kind::device, kCount, i, i % 2 == 0));
    all.back()->start(comm_);
    if (i % 4 == 0) {
      Sum blocking(Kind::device, kCount, 100 + i, i % 8 == 0);
      ASSERT_EQ(MPI_Allreduce(blocking.input(), blocking.out.data(), kCount, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
      blocking.check();
    }
    if (i % 4 == 1) {
      gathered.push_back(std::make_unique<Buffers>(Kind::device, i));
      ASSERT_EQ(movement("MPI_Allgather").start(*gathered.back(), 0, comm_, &others.emplace_back(MPI_REQUEST_NULL)),
                MPI_SUCCESS);
    }
    if (i % 4 == 2) {
      ASSERT_EQ(MPI_Irecv(&words[static_cast<std::size_t>(i)], 1, MPI_INT, last, i, comm_,
                          &others.emplace_back(MPI_REQUEST_NULL)),
                MPI_SUCCESS);
      ASSERT_EQ(MPI_Send(&i, 1, MPI_INT, next, i, comm_), MPI_SUCCESS);
    }
    if (i % 4 == 3) {
      ASSERT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
    }
  }
  ASSERT_EQ(MPI_Waitall(static_cast<int>(others.size()), others.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  wait_in_an_order_of_its_own(&all);
  for (std::size_t i = 0; i < gathered.size(); ++i) {
    expect_right(movement("MPI_Allgather"), *gathered[i], 0, static_cast<int>(i) * 4 + 1);
  }
  for (int i = 2; i < kUnderWay; i += 4) EXPECT_EQ(words[static_cast<std::size_t>(i)], i);
  expect_steps(before, n_in_levels);
}

TEST_F(LevelRequests, StayFlat_WhenOneRankHasHostMemory_OrTheProgramsOwnOperation) {
  for (int host_rank = 0; host_rank < session_.size(); ++host_rank) {
    const long long before = node_steps();
    Sum sum(session_.rank() == host_rank ? Kind::host : Kind::device, kCount, host_rank, false);
    sum.start(comm_);
    ASSERT_EQ(MPI_Wait(&sum.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    sum.check();
    expect_steps(before, 0);
  }
  MPI_Op op = MPI_OP_NULL;
  const auto add = [](void *in, void *inout, int *length, MPI_Datatype * /*type*/) {
    for (int i = 0; i < *length; ++i) static_cast<int *>(inout)[i] += static_cast<int *>(in)[i];
  };
  ASSERT_EQ(MPI_Op_create(add, 1, &op), MPI_SUCCESS);
  const long long before = node_steps();
  Sum sum(Kind::device, kCount, 3, false);
  ASSERT_EQ(MPI_Iallreduce(sum.input(), sum.out.data(), kCount, MPI_INT, op, comm_, &sum.request), MPI_SUCCESS);
  ASSERT_EQ(MPI_Wait(&sum.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  sum.check();
  expect_steps(before, 0);
  EXPECT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
}

// A start waits for nobody: the others come to theirs only after a message that is sent behind it.
TEST_F(LevelRequests, AreLocal_WhenTheyAreStarted) {
  std::vector<std::unique_ptr<Sum>> all;
  for (int i = 0; i < kUnderWay; ++i) all.push_back(std::make_unique<Sum>(Kind::device, kCount, i, false));
  int word = 7;
  if (session_.rank() == 0) {
    for (const auto &sum : all) sum->start(comm_);
    for (int rank = 1; rank < session_.size(); ++rank) {
      ASSERT_EQ(MPI_Send(&word, 1, MPI_INT, rank, 3, comm_), MPI_SUCCESS);
    }
  } else {
    ASSERT_EQ(MPI_Recv(&word, 1, MPI_INT, 0, 3, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (const auto &sum : all) sum->start(comm_);
  }
  wait_in_an_order_of_its_own(&all);
}

// No blocking call, and none of another sort: on new communicators, which go while the calls are under way.
TEST_F(LevelRequests, ServeProgramsThatHaveNoBlockingOnes_AndOutliveTheirCommunicator) {
  for (int round = 0; round < 3; ++round) {
    const long long before = node_steps();
    MPI_Comm comm = MPI_COMM_NULL;
    // Of the world itself, and its ranks the other way round: a rank of its own in each.
    ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 == 0 ? session_.rank() : -session_.rank(), &comm),
              MPI_SUCCESS);
    std::vector<std::unique_ptr<Sum>> all;
    for (int i = 0; i <= round; ++i) {
      all.push_back(std::make_unique<Sum>(Kind::device, kCount, i, false));
      all.back()->start(comm);
    }
    ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
    wait_in_an_order_of_its_own(&all);
    expect_steps(before, round + 1);
    if (HasFailure()) return;
  }
}

// A duplicate that was made without blocking has nothing yet: the next blocking call makes it, whatever it is.
TEST_F(LevelRequests, StayFlat_UntilABlockingCall_OnACommunicatorThatWasMadeWithoutOne) {
  for (const bool is_barrier : {false, true}) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request made = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_Comm_idup(comm_, &comm, &made), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&made, MPI_STATUS_IGNORE), MPI_SUCCESS);
    for (int round = 0; round < 3; ++round) {
      const long long before = node_steps();
      Sum sum(Kind::device, kCount, round, false);
      sum.start(comm);
      int number = 1;
      if (round == 0) {
        ASSERT_EQ(is_barrier ? MPI_Barrier(comm) : MPI_Bcast(&number, 1, MPI_INT, 0, comm), MPI_SUCCESS);
      }
      ASSERT_EQ(MPI_Wait(&sum.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      sum.check();
      expect_steps(before, round == 0 ? 0 : 1);
    }
    ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  }
}

#if MPI_VERSION >= 4
// Started again with other data, together, and among non-blocking ones.
TEST_F(LevelRequests, PersistentOnesGoInLevels_AtEachStart) {
  std::vector<std::unique_ptr<Sum>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(std::make_unique<Sum>(Kind::device, kCount + i, i, i % 2 == 1));
    Sum &sum = *all.back();
    ASSERT_EQ(MPI_Allreduce_init(sum.input(), sum.out.data(), sum.count(), MPI_INT, MPI_SUM, comm_, MPI_INFO_NULL,
                                 &sum.request),
              MPI_SUCCESS);
  }
  for (int start = 0; start < 4; ++start) {
    const long long before = node_steps();
    std::vector<MPI_Request> requests;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i]->fill(start * 10 + static_cast<int>(i));
      requests.push_back(all[i]->request);
    }
    ASSERT_EQ(MPI_Startall(static_cast<int>(requests.size()), requests.data()), MPI_SUCCESS);
    Sum other(Kind::device, kCount, 99, false);
    other.start(comm_);
    ASSERT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&other.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    other.check();
    for (const auto &sum : all) sum->check();
    expect_steps(before, 5);
  }
  for (const auto &sum : all) ASSERT_EQ(MPI_Request_free(&sum->request), MPI_SUCCESS);
}

TEST_F(LevelRequests, PersistentOnesStayFlat_WhenOneRankHasHostMemory) {
  const long long before = node_steps();
  Sum sum(session_.rank() == session_.size() - 1 ? Kind::host : Kind::device, kCount, 0, false);
  ASSERT_EQ(
      MPI_Allreduce_init(sum.input(), sum.out.data(), kCount, MPI_INT, MPI_SUM, comm_, MPI_INFO_NULL, &sum.request),
      MPI_SUCCESS);
  for (int start = 0; start < 3; ++start) {
    sum.fill(start);
    ASSERT_EQ(MPI_Start(&sum.request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&sum.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    sum.check();
  }
  ASSERT_EQ(MPI_Request_free(&sum.request), MPI_SUCCESS);
  expect_steps(before, 0);
}
#endif

// Nobody is in MPI after the start; the sums come all the same.
TEST_F(LevelRequests, ComeByTheProgressThread) {
  const char *wants = std::getenv("SLUICE_PROGRESS_THREAD");
  if (wants == nullptr || std::string_view(wants) != "1") GTEST_SKIP() << "started without SLUICE_PROGRESS_THREAD=1";
  Sum sum(Kind::device, kCount, 4, true);
  sum.start(comm_);
  int last = 0;
  for (int rank = 0; rank < session_.size(); ++rank) last += number_of(rank, 4, kCount - 1);
  const auto place = static_cast<std::size_t>(kCount - 1) * sizeof(int);
  for (int found = last - 1; found != last; std::this_thread::yield()) {
    std::memcpy(&found, sum.out.read(place, sizeof(int)).data(), sizeof(int));
  }
  ASSERT_EQ(MPI_Wait(&sum.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  sum.check();
}

// Each thread on a communicator of its own, several sums under way on each.
TEST_F(LevelRequests, KeepThreadsApart_OnCommunicatorsOfTheirOwn) {
  if (!session_.options().wants_threads) GTEST_SKIP() << "started without --threads";
  std::vector<MPI_Comm> comms(3);
  for (MPI_Comm &comm : comms) ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm), MPI_SUCCESS);
  std::vector<std::thread> threads;
  for (const MPI_Comm comm : comms) {
    threads.emplace_back([comm] {
      for (int round = 0; round < 6; ++round) {
        std::vector<std::unique_ptr<Sum>> all;
        for (int i = 0; i < 4; ++i) {
          all.push_back(std::make_unique<Sum>(Kind::device, kCount, round * 4 + i, i % 2 == 1));
          all.back()->start(comm);
        }
        wait_in_an_order_of_its_own(&all);
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (MPI_Comm &comm : comms) EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
}

TEST_F(LevelRequests, GoWithTheirCommunicator) {
  const int n = session_.options().is_full ? 500 : 40;
  for (int round = 0; round < n; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm), MPI_SUCCESS);
    Sum sum(Kind::device, 700, round, false);
    sum.start(comm);
    ASSERT_EQ(MPI_Wait(&sum.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    sum.check();
    ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  }
}

}  // namespace
}  // namespace sluice::tests::level_requests_test
