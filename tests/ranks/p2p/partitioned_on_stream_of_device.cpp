// SPDX-License-Identifier: BSD-3-Clause
// Partitions of device memory that streams make ready: errors, ends, and who shares a stream or its progress with whom.
#include <gtest/gtest.h>
#include <mpi.h>

#if MPI_VERSION < 4

TEST(PartitionedOnStreamOfDevice, NeedsAnMpiOfVersion4) {
  GTEST_SKIP() << "this host MPI has no partitioned communication (MPI_Psend_init)";
}

#else

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "tests/ranks/p2p/partition_functions.hpp"
#include "tests/ranks/p2p/partitioned_exchange.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/program_stream.hpp"

namespace sluice::tests::partitioned_on_stream_of_device_test {
namespace {

class PartitionedOnStreamOfDevice : public PartitionedOnStream {
 protected:
  static constexpr std::size_t kBytes = 4096;
  void SetUp() override {
    PartitionedOnStream::SetUp();
    if (IsSkipped()) return;
    if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), MPI_SUCCESS);
    in_ = std::make_unique<Memory>(session_.module(), Kind::device, kPartitions * kBytes);
    out_ = std::make_unique<Memory>(session_.module(), Kind::device, kPartitions * kBytes);
    stream_ = std::make_unique<ProgramStream>();
    ASSERT_EQ(MPI_Precv_init(out_->data(), kPartitions, kBytes, MPI_BYTE, left_, kPartitionTag, comm_, MPI_INFO_NULL,
                             requests_.data()),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Psend_init(in_->data(), kPartitions, kBytes, MPI_BYTE, right_, kPartitionTag, comm_, MPI_INFO_NULL,
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
  void fill(int round) const {
    in_->fill_pattern(session_.rank(), round);
    out_->fill(kPoison);
    session_.module()->synchronize();
  }
  void give_all() const {
    for (int i = 0; i < kPartitions; ++i) EXPECT_EQ(pready_on_stream(requests_[1], i, *stream_), MPI_SUCCESS);
  }
  void expect_came(int round) const {
    EXPECT_EQ(find_pattern_error(out_->read(), left_, round), "") << "round " << round;
  }
  void exchange(int round) {
    fill(round);
    ASSERT_EQ(MPI_Startall(2, requests_.data()), MPI_SUCCESS);
    give_all();
    ASSERT_EQ(MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    expect_came(round);
  }

  const Session &session_ = Session::get();
  // Of a ring: each rank sends to one neighbour, and receives from the other one.
  const int left_ = (session_.rank() + session_.size() - 1) % session_.size();
  const int right_ = (session_.rank() + 1) % session_.size();
  std::unique_ptr<Memory> in_;
  std::unique_ptr<Memory> out_;
  std::unique_ptr<ProgramStream> stream_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::array<MPI_Request, 2> requests_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

TEST_F(PartitionedOnStreamOfDevice, RefuseWhatIsNoPartitionToMakeReady) {
  for (int round = 0; round < kRoundsOnStream; ++round) {
    fill(round);
    EXPECT_EQ(class_of(pready_on_stream(requests_[1], 0, *stream_)), MPI_ERR_ARG) << "before the start";
    ASSERT_EQ(MPI_Startall(2, requests_.data()), MPI_SUCCESS);
    EXPECT_EQ(class_of(pready_on_stream(requests_[1], kPartitions, *stream_)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(pready_on_stream(requests_[1], -1, *stream_)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(pready_on_stream(requests_[0], 0, *stream_)), MPI_ERR_ARG) << "of a receive";
    sluice_partition_flags_t flags{};
    EXPECT_EQ(class_of(get_partition_flags(requests_[0], &flags)), MPI_ERR_ARG) << "of a receive";
    EXPECT_EQ(class_of(get_partition_flags(requests_[1], nullptr)), MPI_ERR_ARG);
    stream_->close_gate();
    EXPECT_EQ(pready_on_stream(requests_[1], 0, *stream_), MPI_SUCCESS);
    EXPECT_EQ(class_of(pready_on_stream(requests_[1], 0, *stream_)), MPI_ERR_ARG) << "twice";
    EXPECT_EQ(class_of(MPI_Pready(0, requests_[1])), MPI_ERR_ARG) << "twice, by the host";
    stream_->open_gates();
    EXPECT_EQ(MPI_Pready(1, requests_[1]), MPI_SUCCESS);
    EXPECT_EQ(class_of(pready_on_stream(requests_[1], 1, *stream_)), MPI_ERR_ARG) << "twice, by a stream";
    EXPECT_EQ(MPI_Pready_range(2, kPartitions - 1, requests_[1]), MPI_SUCCESS);
    ASSERT_EQ(MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    expect_came(round);
  }
}

TEST_F(PartitionedOnStreamOfDevice, RefuseWhatIsNoStreamAndNoRequest) {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  ASSERT_EQ(MPI_Comm_get_errhandler(MPI_COMM_SELF, &before), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
  ASSERT_EQ(MPI_Startall(2, requests_.data()), MPI_SUCCESS);
  auto *const ready = find_function<decltype(sluice_pready_on_stream)>("sluice_pready_on_stream");
  EXPECT_EQ(class_of(ready(requests_[1], 0, nullptr)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(pready_on_stream(MPI_REQUEST_NULL, 0, *stream_)), MPI_ERR_ARG);
  sluice_partition_flags_t flags{};
  EXPECT_EQ(class_of(get_partition_flags(MPI_REQUEST_NULL, &flags)), MPI_ERR_ARG);
  EXPECT_EQ(MPI_Pready_range(0, kPartitions - 1, requests_[1]), MPI_SUCCESS);
  ASSERT_EQ(MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, before), MPI_SUCCESS);
  if (before != MPI_ERRHANDLER_NULL) {
    EXPECT_EQ(MPI_Errhandler_free(&before), MPI_SUCCESS);
  }
}

// A stream is not held up by a receiver that comes late: the program may wait for it first.
TEST_F(PartitionedOnStreamOfDevice, StreamsPass_BeforeTheReceiverHasBegun) {
  for (int round = 0; round < kRoundsOnStream; ++round) {
    fill(round);
    ASSERT_EQ(MPI_Start(&requests_[1]), MPI_SUCCESS);
    give_all();
    stream_->synchronize();
    MPI_Barrier(session_.comm());
    ASSERT_EQ(MPI_Start(requests_.data()), MPI_SUCCESS);
    ASSERT_EQ(MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    expect_came(round);
  }
}

// What the request still owes the receiver outlives the program's handle, also while the stream has not come.
TEST_F(PartitionedOnStreamOfDevice, Deliver_WhenTheSendIsFreedUnderWay) {
  exchange(0);
  fill(1);
  ASSERT_EQ(MPI_Startall(2, requests_.data()), MPI_SUCCESS);
  stream_->close_gate();
  give_all();
  ASSERT_EQ(MPI_Request_free(&requests_[1]), MPI_SUCCESS);
  MPI_Barrier(session_.comm());
  stream_->open_gates();
  ASSERT_EQ(MPI_Wait(requests_.data(), MPI_STATUS_IGNORE), MPI_SUCCESS);
  expect_came(1);
  MPI_Barrier(session_.comm());  // the input is the send's until the partner has it
}

// A receiver that dies between MPI_Start and the end: no stream waits for it, and the job ends as with the host MPI
// alone. The test's registration looks at that end.
TEST_F(PartitionedOnStreamOfDevice, StreamsPass_WhenTheReceiverDies) {
  if (std::getenv("TEST_PEER_DIES") == nullptr) GTEST_SKIP() << "started without TEST_PEER_DIES";
  for (int round = 0; round < kRoundsOnStream; ++round) exchange(round);
  ASSERT_EQ(MPI_Startall(2, requests_.data()), MPI_SUCCESS);
  MPI_Barrier(session_.comm());
  if (session_.rank() == 1) raise(SIGKILL);
  give_all();
  stream_->synchronize();
  std::puts("the stream has passed");
  std::fflush(stdout);
  MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE);
}

TEST_F(PartitionedOnStreamOfDevice, DeliverPartitions_EachOfAThreadWithAStreamOfItsOwn) {
  if (!session_.options().wants_threads) GTEST_SKIP() << "started without --threads";
  std::vector<std::unique_ptr<ProgramStream> > streams;
  for (int i = 0; i < kPartitions; ++i) streams.push_back(std::make_unique<ProgramStream>());
  for (int round = 0; round < kRoundsOnStream; ++round) {
    fill(round);
    ASSERT_EQ(MPI_Startall(2, requests_.data()), MPI_SUCCESS);
    std::vector<int> codes(kPartitions);
    std::vector<std::thread> threads;
    for (int i = 0; i < kPartitions; ++i) {
      threads.emplace_back([&, i] {
        const auto at = static_cast<std::size_t>(i);
        codes[at] = pready_on_stream(requests_[1], i, *streams[at]);
      });
    }
    for (std::thread &thread : threads) thread.join();
    for (const int code : codes) EXPECT_EQ(code, MPI_SUCCESS);
    ASSERT_EQ(MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    expect_came(round);
  }
  // Their streams live until the request is freed.
  ASSERT_EQ(MPI_Request_free(&requests_[1]), MPI_SUCCESS);
}

}  // namespace
}  // namespace sluice::tests::partitioned_on_stream_of_device_test

#endif
