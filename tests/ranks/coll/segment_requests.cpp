// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking and persistent collective operations that are staged in segments: that they go so once the ranks have
// what that takes, several under way at the same time, among blocking ones, completed in any order; and that an error
// of one rank comes to all. Started as segments.cpp says.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/segmented.hpp"

namespace sluice::tests::segment_requests_test {
namespace {

class SegmentRequests : public Segmented {
 protected:
  void SetUp() override {
    Segmented::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), MPI_SUCCESS);
  }
  void TearDown() override {
    if (comm_ != MPI_COMM_NULL) {
      EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
    }
  }

  // The first call of a communicator asks for what such calls need, of v and w forms too, and the next blocking one
  // makes it.
  void prepare() const {
    const Buffers buffers(Kind::device, 0);
    for (const char *name : {"MPI_Bcast", "MPI_Alltoallv"}) {
      MPI_Request request = MPI_REQUEST_NULL;
      ASSERT_EQ(movement(name).start(buffers, 0, comm_, &request), MPI_SUCCESS);
      ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    int number = 1;
    ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
  }

  // How many calls of that name went in segments on any rank, since they were `before` on this one.
  int n_in_segments(const std::string &name, long long before) const {
    int n = static_cast<int>(calls_by(name, "pipelined") - before);
    EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, session_.comm()), MPI_SUCCESS);
    return n;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
};

struct UnderWay {
  Moving moving;
  std::unique_ptr<Buffers> buffers;
  int root = 0;
  int round = 0;
};

TEST_F(SegmentRequests, GoInSegments_AnyNumberUnderWay_CompletedInAnyOrder) {
  prepare();
  std::vector<UnderWay> calls;
  std::vector<MPI_Request> requests;
  std::vector<long long> before;
  for (const Moving &moving : movements()) before.push_back(calls_by(moving.starting_name(), "pipelined"));
  for (int round = 0; round < 3; ++round) {
    for (const Moving &moving : movements()) {
      // One rank has host memory in every second call, and makes the same calls of the host MPI.
      const bool is_host = calls.size() % 2 == 1 && session_.rank() == 0;
      calls.push_back({moving, std::make_unique<Buffers>(is_host ? Kind::host : Kind::device, round),
                       round % session_.size(), round});
      ASSERT_EQ(moving.start(*calls.back().buffers, calls.back().root, comm_, &requests.emplace_back(MPI_REQUEST_NULL)),
                MPI_SUCCESS);
    }
    // Among blocking ones, of host memory too.
    int number = session_.rank();
    ASSERT_EQ(MPI_Bcast(&number, 1, MPI_INT, 0, comm_), MPI_SUCCESS);
    EXPECT_EQ(number, 0);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::size_t which = i % 2 == 0 ? i / 2 : requests.size() - 1 - i / 2;
    ASSERT_EQ(MPI_Wait(&requests[which], MPI_STATUS_IGNORE), MPI_SUCCESS) << calls[which].moving.name;
  }
  for (const UnderWay &call : calls) expect_right(call.moving, *call.buffers, call.root, call.round);
  for (std::size_t i = 0; i < movements().size(); ++i) {
    EXPECT_GE(n_in_segments(movements()[i].starting_name(), before[i]), 3 * (session_.size() - 1))
        << movements()[i].name;
  }
}

TEST_F(SegmentRequests, StayWhole_WhenAllHaveHostMemory_OrOneHasGaps) {
  prepare();
  const long long before = calls_by("MPI_Ibcast", "pipelined");
  const Buffers host(Kind::host, 1);
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_EQ(movement("MPI_Bcast").start(host, 0, comm_, &request), MPI_SUCCESS);
  ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  expect_right(movement("MPI_Bcast"), host, 0, 1);
  constexpr int kRuns = 2'000;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_vector(kRuns, 3, 5, MPI_INT, &type), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
  const bool has_gaps = session_.rank() == session_.size() - 1;
  compare_with_host({Kind::device, Kind::device, 0}, [&](Trial &run) {
    const std::size_t bytes = sizeof(int) * kRuns * (has_gaps ? 5 : 3);
    const Memory &buffer = session_.rank() == 0 ? run.input(bytes) : run.output(bytes);
    MPI_Datatype own = MPI_INT;
    if (has_gaps) MPI_Type_dup(type, &own);
    MPI_Request started = MPI_REQUEST_NULL;
    run.call("MPI_Ibcast", MPI_Ibcast(buffer.data(), has_gaps ? 1 : kRuns * 3, own, 0, comm_, &started));
    if (has_gaps) MPI_Type_free(&own);  // as MPI lets it while the call is under way
    run.call("MPI_Wait", MPI_Wait(&started, MPI_STATUS_IGNORE));
  });
  EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
  EXPECT_EQ(n_in_segments("MPI_Ibcast", before), 0);
}

#if MPI_VERSION >= 4
TEST_F(SegmentRequests, PersistentOnesGoInSegments_AtEachStart) {
  for (const Moving &moving : movements()) {
    const long long before = calls_by(moving.init_name(), "pipelined");
    const int root = session_.size() - 1;
    const Buffers buffers(Kind::device, 5);
    MPI_Request request = MPI_REQUEST_NULL;
    if (moving.init == nullptr) GTEST_SKIP() << "missing: persistent collective operations in this MPI";
    ASSERT_EQ(moving.init(buffers, root, comm_, &request), MPI_SUCCESS);
    for (int start = 0; start < 3; ++start) {
      ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
      int is_done = 0;
      while (is_done == 0) ASSERT_EQ(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), MPI_SUCCESS);
      expect_right(moving, buffers, root, 5);
    }
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_GE(n_in_segments(moving.init_name(), before), 3) << moving.name;
  }
}
#endif

// No rank knows how long an all-to-all is for the others: in a blocking call they agree whether any of those since the
// last time was long, after the first and then after 64.
TEST_F(SegmentRequests, OfUnknownLengthAskEachOther_OnceOneWasLong) {
  const auto exchange = [this](int count) {
    const Buffers buffers(Kind::device, 0);
    const std::vector<int> counts(buffers.counts.size(), count);
    const long long before = calls_by("MPI_Ialltoallv", "pipelined");
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Ialltoallv(buffers.in.data(), counts.data(), buffers.places.data(), MPI_BYTE, buffers.out.data(),
                             counts.data(), buffers.places.data(), MPI_BYTE, comm_, &request),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    return calls_by("MPI_Ialltoallv", "pipelined") != before;
  };
  const auto exchange_short = [&](int n_calls) {
    for (int call = 0; call < n_calls; ++call) EXPECT_FALSE(exchange(1));
  };
  const auto agree = [this] {
    int number = 1;
    EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
  };
  exchange_short(1);
  agree();
  EXPECT_FALSE(exchange(kBlockCount)) << "the last were short";
  exchange_short(63);
  agree();
  EXPECT_TRUE(exchange(kBlockCount)) << "one was long";
}

TEST_F(SegmentRequests, GoWithTheirCommunicator) {
  for (int round = 0; round < 10; ++round) {
    MPI_Comm comm = comm_;
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm_), MPI_SUCCESS);
    prepare();
    ASSERT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
    comm_ = comm;
  }
}

// With a fault in force on one rank: one of its copies fails, once. All get an error, and the next calls work.
TEST_F(SegmentRequests, ReturnAnErrorEverywhere_WhenACopyFails) {
  prepare();
  const auto gather_all = [&](int round) {
    const Buffers buffers(Kind::device, round);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(movement("MPI_Allgather").start(buffers, 0, comm_, &request), MPI_SUCCESS);
    const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) expect_right(movement("MPI_Allgather"), buffers, 0, round);
    return code;
  };
  EXPECT_NE(gather_all(0), MPI_SUCCESS);
  EXPECT_EQ(gather_all(1), MPI_SUCCESS);
  EXPECT_EQ(gather_all(2), MPI_SUCCESS);
}

}  // namespace
}  // namespace sluice::tests::segment_requests_test
