// SPDX-License-Identifier: BSD-3-Clause
// Partitioned messages that Sluice moves itself, between the devices of a node (docs/adr/0071): what is not as with the
// host MPI, which carries the others.
#include <gtest/gtest.h>
#include <mpi.h>

#if MPI_VERSION < 4

TEST(PartitionedDirectly, NeedsAnMpiOfVersion4) {
  GTEST_SKIP() << "this host MPI has no partitioned communication (MPI_Psend_init)";
}

#else

#include "tests/support/oracle.hpp"

namespace sluice::tests::partitioned_directly_test {
namespace {

constexpr int kTag = 67;
constexpr int kRounds = 3;
constexpr int kPartitions = 4;

// Where Sluice itself moves the data it also has to say what is wrong.
class PartitionedDirectly : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 4096;
  void SetUp() override {
    if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), MPI_SUCCESS);
    ASSERT_EQ(MPI_Precv_init(out_.data(), kPartitions, kBytes, MPI_BYTE, session_.partner(), kTag, comm_, MPI_INFO_NULL,
                             &requests_[0]),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Psend_init(in_.data(), kPartitions, kBytes, MPI_BYTE, session_.partner(), kTag, comm_, MPI_INFO_NULL,
                             &requests_[1]),
              MPI_SUCCESS);
  }
  void TearDown() override {
    for (MPI_Request &request : requests_) {
      if (request != MPI_REQUEST_NULL) {
        EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
      }
    }
    if (comm_ != MPI_COMM_NULL) {
      EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
    }
  }

  const Session &session_ = Session::get();
  const Memory in_{session_.module(), device_or_host(), kPartitions *kBytes};
  const Memory out_{session_.module(), device_or_host(), kPartitions *kBytes};
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

TEST_F(PartitionedDirectly, RefuseWhatIsNoPartitionToMakeReady) {
  for (int round = 0; round < kRounds; ++round) {
    in_.fill_pattern(session_.rank(), round);
    EXPECT_NE(MPI_Pready(0, requests_[1]), MPI_SUCCESS) << "before the start";
    ASSERT_EQ(MPI_Startall(2, requests_), MPI_SUCCESS);
    EXPECT_NE(MPI_Pready(kPartitions, requests_[1]), MPI_SUCCESS);
    EXPECT_NE(MPI_Pready(-1, requests_[1]), MPI_SUCCESS);
    EXPECT_NE(MPI_Pready(0, requests_[0]), MPI_SUCCESS) << "of a receive";
    EXPECT_EQ(MPI_Pready_range(0, 2, requests_[1]), MPI_SUCCESS);
    EXPECT_NE(MPI_Pready(1, requests_[1]), MPI_SUCCESS) << "twice";
    EXPECT_EQ(MPI_Pready(3, requests_[1]), MPI_SUCCESS);
    MPI_Status statuses[2];
    ASSERT_EQ(MPI_Waitall(2, requests_, statuses), MPI_SUCCESS);
    EXPECT_EQ(statuses[0].MPI_SOURCE, session_.partner());
    EXPECT_EQ(statuses[0].MPI_TAG, kTag);
    int n_bytes = 0;
    EXPECT_EQ(MPI_Get_count(&statuses[0], MPI_BYTE, &n_bytes), MPI_SUCCESS);
    EXPECT_EQ(n_bytes, static_cast<int>(kPartitions * kBytes));
    EXPECT_EQ(find_pattern_error(out_.read(), session_.partner(), round), "");
  }
}

// Requests that are freed before anything was started, and before the sides can have met.
TEST_F(PartitionedDirectly, Deliver_WhenOthersWereNeverStarted) {
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request unused[2] = {};
    ASSERT_EQ(MPI_Psend_init(in_.data(), 2, kBytes, MPI_BYTE, session_.partner(), kTag, comm_, MPI_INFO_NULL, unused),
              MPI_SUCCESS);
    ASSERT_EQ(
        MPI_Precv_init(out_.data(), 2, kBytes, MPI_BYTE, session_.partner(), kTag, comm_, MPI_INFO_NULL, &unused[1]),
        MPI_SUCCESS);
    for (MPI_Request &request : unused) EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    in_.fill_pattern(session_.rank(), round);
    ASSERT_EQ(MPI_Startall(2, requests_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Pready_range(0, kPartitions - 1, requests_[1]), MPI_SUCCESS);
    ASSERT_EQ(MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(find_pattern_error(out_.read(), session_.partner(), round), "");
  }
}

// What the request still owes the receiver outlives the program's handle.
TEST_F(PartitionedDirectly, Deliver_WhenTheSendIsFreedUnderWay) {
  in_.fill_pattern(session_.rank(), 1);
  ASSERT_EQ(MPI_Startall(2, requests_), MPI_SUCCESS);
  ASSERT_EQ(MPI_Pready_range(0, kPartitions - 1, requests_[1]), MPI_SUCCESS);
  ASSERT_EQ(MPI_Request_free(&requests_[1]), MPI_SUCCESS);
  ASSERT_EQ(MPI_Wait(&requests_[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(find_pattern_error(out_.read(), session_.partner(), 1), "");
  MPI_Barrier(session_.comm());  // the input is the send's until the partner has it
}

}  // namespace
}  // namespace sluice::tests::partitioned_directly_test

#endif
