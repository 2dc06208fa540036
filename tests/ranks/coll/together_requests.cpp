// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking and persistent collective operations that the ranks of a node carry out together: several under way on
// one communicator, completed in any order, among blocking ones and such that are staged. Started as together.cpp says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/ranks/coll/moving.hpp"
#include "tests/support/given_setting.hpp"

namespace sluice::tests::together_requests_test {
namespace {

// More than there are slots on the board.
constexpr std::size_t kUnderWay = 11;

class TogetherRequests : public Together {
 protected:
  void SetUp() override {
    Together::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm_), MPI_SUCCESS);
  }
  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) {
      EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
    }
  }

  // One of several under way.
  struct Started {
    const Moving *moving;
    int root;
    int round;
    std::unique_ptr<Buffers> buffers;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  Started make(std::size_t number, Kind kind) const {
    const auto round = static_cast<int>(number) + 1;
    return {&movements()[number % movements().size()], round % session_.size(), round,
            std::make_unique<Buffers>(kind, round)};
  }

  void start(std::vector<Started> *all, Kind kind = Kind::device) const {
    Started made = make(all->size(), kind);
    ASSERT_EQ(made.moving->start(*made.buffers, made.root, comm_, &made.request), MPI_SUCCESS) << made.moving->name;
    all->push_back(std::move(made));
  }

  static void check(const Started &started) {
    expect_right(*started.moving, *started.buffers, started.root, started.round);
  }

  // No blocking call, and none of another sort: the first ones on a communicator bring about what they need, several
  // of them while the ranks have not agreed yet.
  void begin_on_new_communicators() const {
    const long long before = calls_by("MPI_Ialltoall", "ipc");
    for (int round = 0; round < 3; ++round) {
      MPI_Comm comm = MPI_COMM_NULL;
      ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm), MPI_SUCCESS);
      std::vector<Started> all;
      std::vector<MPI_Request> requests;
      for (int i = 0; i <= round; ++i) {
        all.push_back({&movement("MPI_Alltoall"), 0, round + i, std::make_unique<Buffers>(Kind::device, round + i)});
        ASSERT_EQ(all.back().moving->start(*all.back().buffers, 0, comm, &all.back().request), MPI_SUCCESS);
        requests.push_back(all.back().request);
      }
      ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
      ASSERT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      for (const Started &started : all) check(started);
    }
    EXPECT_EQ(calls_by("MPI_Ialltoall", "ipc"), before + 2 * (1 + 2 + 3)) << "two buffers of each call";
  }

  // The first `n_host` calls find host memory on rank 0; `n_staged` of the calls are staged.
  void begin_with_host_memory(int n_host, int n_staged) const {
    constexpr int kCalls = 80;
    const long long before = calls_by("MPI_Iallgather", "ipc");
    ASSERT_GE(before, 0) << "no statistics";
    std::vector<Started> all;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < kCalls; ++i) {
      const Kind kind = i < n_host && session_.rank() == 0 ? Kind::host : Kind::device;
      all.push_back({&movement("MPI_Allgather"), 0, i, std::make_unique<Buffers>(kind, i)});
      ASSERT_EQ(all.back().moving->start(*all.back().buffers, 0, comm_, &all.back().request), MPI_SUCCESS);
      requests.push_back(all.back().request);
      if (i % 7 != 6 && i != kCalls - 1) continue;
      ASSERT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      for (const Started &started : all) check(started);
      all.clear();
      requests.clear();
    }
    const long long by_ipc = calls_by("MPI_Iallgather", "ipc") - before;
    EXPECT_EQ(by_ipc, 2 * (kCalls - n_staged)) << "two buffers of each call";
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
};

// The same calls as a program has them that sets nothing: together only where all ranks agreed to.
class AgreedRequests : public TogetherRequests {
 protected:
  void SetUp() override {
    if (std::getenv("SLUICE_COLL_IPC") != nullptr || !given_setting("coll_ipc_threshold") || session_.size() < 2) {
      GTEST_SKIP() << "not started with a threshold alone (coll_ipc_threshold=0), or with one rank";
    }
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm_), MPI_SUCCESS);
  }
};

TEST_F(TogetherRequests, PullOverIpc_InEachOperation) {
  for (const Moving &moving : movements()) {
    for (int root = 0; root < session_.size(); ++root) {
      const Buffers buffers(Kind::device, root);
      const long long before = calls_by(moving.starting_name(), "ipc");
      ASSERT_GE(before, 0) << "no statistics";
      MPI_Request request = MPI_REQUEST_NULL;
      ASSERT_EQ(moving.start(buffers, root, comm_, &request), MPI_SUCCESS) << moving.name;
      EXPECT_NE(request, MPI_REQUEST_NULL);
      ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(request, MPI_REQUEST_NULL);
      EXPECT_GT(calls_by(moving.starting_name(), "ipc"), before) << moving.name << " was not carried out together";
      expect_right(moving, buffers, root, root);
    }
  }
}

// Each rank completes them in an order of its own.
TEST_F(TogetherRequests, ComeInAnyOrder_WhenSeveralAreUnderWay) {
  for (int order = 0; order < 4; ++order) {
    std::vector<Started> all;
    for (std::size_t i = 0; i < kUnderWay; ++i) start(&all);
    std::vector<std::size_t> indices(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) indices[i] = i;
    if (order % 2 == 1) std::reverse(indices.begin(), indices.end());
    if (order > 1) std::rotate(indices.begin(), indices.begin() + session_.rank() * 3 + 1, indices.end());
    for (const std::size_t i : indices) {
      if (order == 2) {
        int is_done = 0;
        while (is_done == 0) ASSERT_EQ(MPI_Test(&all[i].request, &is_done, MPI_STATUS_IGNORE), MPI_SUCCESS);
      } else {
        ASSERT_EQ(MPI_Wait(&all[i].request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      check(all[i]);
    }
  }
}

// Some of them, and blocking ones among them, are staged, because one rank has host memory; a reduction is the host
// MPI's. All of them at once.
TEST_F(TogetherRequests, KeepTheirOrder_AmongBlockingCallsAndStagedOnes) {
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<Started> all;
    const auto kind_of = [&](std::size_t i) {
      const bool is_odd_one = i % 3 == 1 && session_.rank() == static_cast<int>(i) % session_.size();
      return is_odd_one ? Kind::host : Kind::device;
    };
    std::vector<int> sums(kUnderWay, 0);
    std::vector<MPI_Request> requests;
    for (std::size_t i = 0; i < kUnderWay; ++i) {
      start(&all, kind_of(i));
      if (i % 4 == 2) {
        const Started blocking = make(i + 3, kind_of(i / 4));
        ASSERT_EQ(blocking.moving->call(*blocking.buffers, blocking.root, comm_), MPI_SUCCESS);
        check(blocking);
      }
      requests.push_back(MPI_REQUEST_NULL);
      sums[i] = session_.rank() + 1;
      ASSERT_EQ(MPI_Iallreduce(MPI_IN_PLACE, &sums[i], 1, MPI_INT, MPI_SUM, comm_, &requests.back()), MPI_SUCCESS);
    }
    for (const Started &started : all) requests.push_back(started.request);
    ASSERT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (const Started &started : all) check(started);
    const int sum = session_.size() * (session_.size() + 1) / 2;
    EXPECT_EQ(sums, std::vector<int>(kUnderWay, sum));
  }
}

// A non-blocking call waits for nobody: here its peer comes to it only after a message that is sent behind it.
TEST_F(TogetherRequests, AreLocal_WhenTheyAreStarted) {
  if (session_.size() % 2 != 0) GTEST_SKIP() << "an odd number of ranks";
  for (const Kind kind : {Kind::device, Kind::host}) {
    int word = 7;
    std::vector<Started> all;
    if (session_.begins()) {
      for (std::size_t i = 0; i < kUnderWay; ++i) start(&all, kind);
      ASSERT_EQ(MPI_Send(&word, 1, MPI_INT, session_.partner(), 3, comm_), MPI_SUCCESS);
    } else {
      ASSERT_EQ(MPI_Recv(&word, 1, MPI_INT, session_.partner(), 3, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
      for (std::size_t i = 0; i < kUnderWay; ++i) start(&all);
    }
    for (Started &started : all) {
      ASSERT_EQ(MPI_Wait(&started.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      check(started);
    }
  }
}

// A message of host memory, too long to be sent before it is received, has to move while ranks wait.
TEST_F(TogetherRequests, LetMessagesMove_WhileTheyAreWaitedFor) {
  constexpr int kLong = 8 << 20;
  if (session_.size() % 2 != 0) GTEST_SKIP() << "an odd number of ranks";
  for (const Kind kind : {Kind::host, Kind::device}) {
    const Memory message(session_.module(), kind, kLong);
    MPI_Request received = MPI_REQUEST_NULL;
    std::vector<Started> all;
    if (session_.begins()) {
      message.fill_pattern(session_.rank(), 3);
      ASSERT_EQ(MPI_Ssend(message.data(), kLong, MPI_BYTE, session_.partner(), 1, comm_), MPI_SUCCESS);
    } else {
      ASSERT_EQ(MPI_Irecv(message.data(), kLong, MPI_BYTE, session_.partner(), 1, comm_, &received), MPI_SUCCESS);
    }
    for (std::size_t i = 0; i < kUnderWay; ++i) start(&all);
    for (Started &started : all) {
      ASSERT_EQ(MPI_Wait(&started.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      check(started);
    }
    ASSERT_EQ(MPI_Wait(&received, MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (!session_.begins()) {
      EXPECT_EQ(find_pattern_error(message.read(), session_.partner(), 3), "");
    }
  }
}

TEST_F(TogetherRequests, ServeProgramsThatHaveNoBlockingOnes) {
  begin_on_new_communicators();
}

TEST_F(AgreedRequests, ServeProgramsThatHaveNoBlockingOnes) {
  begin_on_new_communicators();
}

TEST_F(TogetherRequests, AreStaged_WhereARankHasHostMemory) {
  begin_with_host_memory(3, 3);
}

// The ranks ask each other in the first, the second, the fourth and the eighth call.
TEST_F(AgreedRequests, AreStaged_UntilAllRanksHaveDeviceMemory) {
  begin_with_host_memory(3, 3);
}

TEST_F(AgreedRequests, AreStaged_UntilTheRanksAskAgain) {
  begin_with_host_memory(5, 7);
}

// As in a program that adds up figures of its own in host memory between the steps of its computation.
TEST_F(AgreedRequests, StayTogether_AmongBlockingCallsOnHostMemory) {
  constexpr int kRounds = 5;
  const Moving &moving = movement("MPI_Allgather");
  const long long before = calls_by("MPI_Iallgather", "ipc");
  ASSERT_GE(before, 0) << "no statistics";
  for (int round = 0; round < kRounds; ++round) {
    const Buffers own(Kind::host, round);
    ASSERT_EQ(moving.call(own, 0, comm_), MPI_SUCCESS);
    expect_right(moving, own, 0, round);
    std::vector<Started> all;
    std::vector<MPI_Request> requests;
    for (int i = 0; i < 2; ++i) {
      all.push_back({&moving, 0, round + i, std::make_unique<Buffers>(Kind::device, round + i)});
      ASSERT_EQ(moving.start(*all.back().buffers, 0, comm_, &all.back().request), MPI_SUCCESS);
      requests.push_back(all.back().request);
    }
    ASSERT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (const Started &started : all) check(started);
  }
  EXPECT_EQ(calls_by("MPI_Iallgather", "ipc"), before + 2 * 2 * kRounds) << "two buffers of each call";
}

// The type goes while the call is under way; also where it comes to the host MPI only later, as one rank has host
// memory.
TEST_F(TogetherRequests, OutliveTheirTypes) {
  constexpr int kPairs = 2000;
  const auto offset = [](int pair) { return static_cast<std::size_t>(pair) * 12; };
  for (const bool is_staged : {false, true}) {
    const int last = session_.size() - 1;
    const Memory memory(session_.module(), is_staged && session_.rank() == last ? Kind::host : Kind::device,
                        offset(kPairs));
    const bool is_root = session_.rank() == 0;
    if (is_root) memory.fill_pattern(0, 8);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_Type_vector(kPairs, 4, 12, MPI_BYTE, &type), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
    MPI_Request request = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_Ibcast(memory.data(), 1, type, 0, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    if (is_root) continue;
    const Bytes got = memory.read();
    for (std::size_t at = 0; at < got.size(); ++at) {
      ASSERT_EQ(got[at], at % 12 < 4 ? pattern_byte(0, at, 8) : kPoison) << "byte " << at;
    }
  }
}

// With a fault in force on one rank, whose first copy fails. The error comes where the call is completed.
TEST_F(TogetherRequests, ReturnAnErrorEverywhere_WhenACopyFails) {
  const Moving &moving = movement("MPI_Allgather");
  for (int round = 0; round < 3; ++round) {
    Started made{&moving, 0, round, std::make_unique<Buffers>(Kind::device, round)};
    ASSERT_EQ(moving.start(*made.buffers, 0, comm_, &made.request), MPI_SUCCESS);
    const int code = MPI_Wait(&made.request, MPI_STATUS_IGNORE);
    EXPECT_EQ(code == MPI_SUCCESS, round > 0) << "round " << round;
    EXPECT_EQ(made.request, MPI_REQUEST_NULL);
    if (code == MPI_SUCCESS) check(made);
  }
}

// Nobody is in MPI after the start; the data comes all the same.
TEST_F(TogetherRequests, ComeByTheProgressThread) {
  const char *wants = std::getenv("SLUICE_PROGRESS_THREAD");
  if (wants == nullptr || std::string(wants) != "1") GTEST_SKIP() << "started without SLUICE_PROGRESS_THREAD=1";
  const Buffers buffers(Kind::device, 4);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(movement("MPI_Bcast").start(buffers, 0, comm_, &request), MPI_SUCCESS);
  if (session_.rank() != 0) {
    while (!find_pattern_error(buffers.out.read(0, kBlockBytes), 0, 4).empty()) std::this_thread::yield();
  }
  ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

// Each thread on a communicator of its own, several calls under way on each.
TEST_F(TogetherRequests, KeepThreadsApart_OnCommunicatorsOfTheirOwn) {
  if (!session_.options().wants_threads) GTEST_SKIP() << "started without --threads";
  constexpr std::size_t kThreads = 3;
  const int n_rounds = session_.options().is_full ? 100 : 12;
  std::vector<MPI_Comm> comms(kThreads);
  for (MPI_Comm &comm : comms) {
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm), MPI_SUCCESS);
  }
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < n_rounds; ++round) {
        std::vector<Started> all;
        for (std::size_t i = 0; i < 6; ++i) {
          all.push_back(make(i + thread, Kind::device));
          Started &made = all.back();
          EXPECT_EQ(made.moving->start(*made.buffers, made.root, comms[thread], &made.request), MPI_SUCCESS);
        }
        for (std::size_t i = all.size(); i-- > 0;) {
          EXPECT_EQ(MPI_Wait(&all[i].request, MPI_STATUS_IGNORE), MPI_SUCCESS);
          check(all[i]);
        }
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (MPI_Comm &comm : comms) EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
}

#if MPI_VERSION >= 4
// Several persistent ones, started together and again, with new data each time; completed by
// MPI_Waitall and by MPI_Waitany.
TEST_F(TogetherRequests, StartAgain_WhenTheyArePersistent) {
  std::vector<Started> all;
  for (std::size_t i = 0; i < kUnderWay; ++i) {
    all.push_back(make(i, Kind::device));
    Started &made = all.back();
    ASSERT_EQ(made.moving->init(*made.buffers, made.root, comm_, &made.request), MPI_SUCCESS) << made.moving->name;
  }
  const long long before = calls_by("MPI_Bcast_init", "ipc");
  for (int start = 0; start < 4; ++start) {
    std::vector<MPI_Request> requests;
    for (Started &each : all) {
      each.round += 50;
      each.buffers->in.fill_pattern(session_.rank(), each.round);
      each.buffers->out.fill(kPoison);
      requests.push_back(each.request);
    }
    ASSERT_EQ(MPI_Startall(static_cast<int>(requests.size()), requests.data()), MPI_SUCCESS);
    if (start % 2 == 0) {
      ASSERT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    } else {
      for (std::size_t i = 0; i < requests.size(); ++i) {
        int index = MPI_UNDEFINED;
        ASSERT_EQ(MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        ASSERT_NE(index, MPI_UNDEFINED);
      }
    }
    for (const Started &each : all) check(each);
  }
  EXPECT_GE(calls_by("MPI_Bcast_init", "ipc"), before + 4);
  for (Started &each : all) {
    ASSERT_EQ(MPI_Request_free(&each.request), MPI_SUCCESS);
  }
}
#endif

}  // namespace
}  // namespace sluice::tests::together_requests_test
