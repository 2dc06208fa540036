// SPDX-License-Identifier: BSD-3-Clause
// Partitions that streams and kernels make ready (sluice/partitioned.h). Gates in the streams say "not yet"; no test
// asserts a time.
#include <gtest/gtest.h>
#include <mpi.h>

#if MPI_VERSION < 4

TEST(PartitionedOnStream, NeedsAnMpiOfVersion4) {
  GTEST_SKIP() << "this host MPI has no partitioned communication (MPI_Psend_init)";
}

#else

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/ranks/p2p/partition_functions.hpp"
#include "tests/ranks/p2p/partitioned_exchange.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/program_stream.hpp"

namespace sluice::tests::partitioned_on_stream_test {
namespace {

constexpr int kRounds = 5;  // of the first the sides may not have met yet
constexpr int kLooks = 50;

class PartitionedOnStream : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_streams()) GTEST_SKIP() << "missing: a backend whose streams write words (group stream)";
    if (!Session::get().has_sluice()) GTEST_SKIP() << "missing: Sluice";
  }
};

// What is copied in a stream's order without holding up the host.
Kind source_kind(Kind kind) {
  return kind == Kind::device ? Kind::pinned : Kind::device;
}

// One rank's part. In the reference run all memory is the host's, and MPI_Pready does what streams do.
class OnStream {
 public:
  OnStream(Trial &run, const Cut &sent, const Cut &received, std::size_t send_bytes, std::size_t recv_bytes)
      : run_(run),
        sent_(sent),
        received_(received),
        in_(run.input(send_bytes)),
        out_(run.output(recv_bytes)),
        is_reference_(run.send_kind() == Kind::host && run.recv_kind() == Kind::host),
        exchange_(init(run, in_, sent, out_, received)) {
    if (is_reference_) return;
    stream_ = std::make_unique<ProgramStream>();
    if (fills_in_stream()) {
      source_ = std::make_unique<Memory>(Session::get().module(), source_kind(run.send_kind()), send_bytes);
    }
  }

  // A round of the stream: behind a gate each partition is written and made ready, and nothing arrives before the gate
  // is opened. `is_met`: the receiver has certainly begun.
  void run_round(int round, bool is_met) {
    if (source_ != nullptr) {
      run_.refill(*source_, round);
      in_.fill(kPoison);
    } else {
      run_.refill(in_, round);
    }
    begin();
    if (is_met) MPI_Barrier(Session::get().comm());
    if (stream_ != nullptr) stream_->close_gate();
    const auto partition_bytes = in_.size_bytes() / static_cast<std::size_t>(sent_.n_partitions);
    for (int i = 0; i < sent_.n_partitions && !is_reference_; ++i) {
      const int partition = (i + round) % sent_.n_partitions;
      const std::size_t offset = static_cast<std::size_t>(partition) * partition_bytes;
      if (source_ != nullptr) stream_->copy(in_.at(offset), source_->at(offset), partition_bytes);
      expect_ready(pready_on_stream(send(), partition, *stream_));
    }
    MPI_Barrier(Session::get().comm());
    expect_nothing();
    MPI_Barrier(Session::get().comm());
    if (stream_ != nullptr) stream_->open_gates();
    for (int i = 0; i < sent_.n_partitions && is_reference_; ++i) expect_ready(MPI_Pready(i, send()));
    end();
  }

  // One whose partitions are made ready in turns by the host, two streams, a kernel, and the CPU as a kernel would.
  void run_mixed_round(int round) {
    run_.refill(in_, round);
    begin();
    ProgramStream other;
    sluice_partition_flags_t flags{};
    const bool has_flags = !is_reference_ && run_.send_kind() != Kind::host;
    if (has_flags) expect_ready(get_partition_flags(send(), &flags));
    for (int partition = 0; partition < sent_.n_partitions; ++partition) {
      const int maker = is_reference_ ? 0 : (partition + round) % (has_flags ? 5 : 3);
      if (maker == 0) expect_ready(MPI_Pready(partition, send()));
      if (maker == 1) expect_ready(pready_on_stream(send(), partition, *stream_));
      if (maker == 2) expect_ready(pready_on_stream(send(), partition, other));
      if (maker == 3) set_flag_by_kernel(*stream_, flags, partition);
      if (maker == 4) sluice_set_partition_ready(flags, partition);
    }
    end();
  }

  // Frees the requests, and notes what came in each round.
  void finish() {
    free_requests(exchange_);
    for (const Bytes &came : contents_) run_.note("what came", static_cast<long long>(hash_of(came)));
  }

 private:
  void begin() {
    // A runtime's copy from the host may be under way still, and such a stream waits for no other.
    if (!is_reference_) Session::get().module()->synchronize();
    run_.call("MPI_Startall", MPI_Startall(2, exchange_.requests.data()));
  }

  void end() {
    run_.call("MPI_Parrived", ask_for(exchange_.requests[0], received_.n_partitions - 1));
    MPI_Status statuses[2];
    run_.call("MPI_Waitall", MPI_Waitall(2, exchange_.requests.data(), statuses));
    contents_.push_back(out_.read());
    out_.fill(kPoison);
  }

  // The runtime copies there in the order of a stream without holding up the host.
  bool fills_in_stream() const {
    const bool is_named = run_.send_kind() == Kind::device || run_.send_kind() == Kind::pinned;
    return is_named && Session::get().has_kind(source_kind(run_.send_kind()));
  }
  MPI_Request send() const { return exchange_.requests[1]; }
  static void expect_ready(int code) { EXPECT_EQ(code, MPI_SUCCESS) << text_of(code); }
  void expect_nothing() const {
    for (int look = 0; look < kLooks; ++look) {
      for (int partition = 0; partition < received_.n_partitions; ++partition) {
        int has_arrived = 1;
        EXPECT_EQ(MPI_Parrived(exchange_.requests[0], partition, &has_arrived), MPI_SUCCESS);
        EXPECT_EQ(has_arrived, 0) << "partition " << partition << " has arrived before its stream came there";
      }
    }
  }

  Trial &run_;
  const Cut sent_;
  const Cut received_;
  const Memory &in_;
  const Memory &out_;
  const bool is_reference_;
  Exchange exchange_;
  std::unique_ptr<ProgramStream> stream_;
  std::unique_ptr<Memory> source_;  // what the stream copies into the input; null: the host fills it
  std::vector<Bytes> contents_;
};

TEST_F(PartitionedOnStream, DeliverWhatTheStreamWroteBefore) {
  compare_each_case(Breadth::narrow, {1, 5000, 70'000}, [](Trial &run, const Case &c) {
    const std::size_t all_bytes = kPartitions * c.size_bytes;
    OnStream side(run, bytes(c.size_bytes), bytes(c.size_bytes), all_bytes, all_bytes);
    for (int round = 0; round < kRounds; ++round) side.run_round(round, round % 2 == 1);
    side.finish();
  });
}

TEST_F(PartitionedOnStream, DeliverAll_WhenTheSidesCutDifferently) {
  constexpr int kPairs[][2] = {{1, 12}, {12, 1}, {3, 2}, {2, 3}};
  compare_each_case(Breadth::narrow, {1, 25'000}, [&](Trial &run, const Case &c) {
    for (const auto &[n_sent, n_received] : kPairs) {
      const auto cut = [&](int n) { return bytes(12 / static_cast<std::size_t>(n) * c.size_bytes, n); };
      OnStream side(run, cut(n_sent), cut(n_received), 12 * c.size_bytes, 12 * c.size_bytes);
      for (int round = 0; round < 3; ++round) side.run_round(round, round == 2);
      side.finish();
    }
  });
}

TEST_F(PartitionedOnStream, DeliverAll_WhoeverMakesEachReady) {
  constexpr int kMany = 11;
  compare_each_case(Breadth::narrow, {1, 5000}, [&](Trial &run, const Case &c) {
    const std::size_t all_bytes = kMany * c.size_bytes;
    OnStream side(run, bytes(c.size_bytes, kMany), bytes(all_bytes, 1), all_bytes, all_bytes);
    for (int round = 0; round < kRounds; ++round) side.run_mixed_round(round);
    side.finish();
  });
}

// Elements of two runs of bytes with a gap between them and one behind.
TEST_F(PartitionedOnStream, LeaveGapsUntouched) {
  constexpr MPI_Aint kExtent = 24;
  MPI_Datatype gapped = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_vector(2, 5, 11, MPI_BYTE, &gapped), MPI_SUCCESS);
  MPI_Datatype padded = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_create_resized(gapped, 0, kExtent, &padded), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&padded), MPI_SUCCESS);
  compare_each_case(Breadth::narrow, {1, 300}, [&](Trial &run, const Case &c) {
    const Cut cut{kPartitions, static_cast<MPI_Count>(c.size_bytes), padded};
    const std::size_t all_bytes = kPartitions * c.size_bytes * kExtent;
    OnStream side(run, cut, cut, all_bytes, all_bytes);
    for (int round = 0; round < 3; ++round) side.run_round(round, round == 2);
    side.finish();
  });
  EXPECT_EQ(MPI_Type_free(&gapped), MPI_SUCCESS);
  EXPECT_EQ(MPI_Type_free(&padded), MPI_SUCCESS);
}

// ---- on device memory alone

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
  for (int round = 0; round < kRounds; ++round) {
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
  for (int round = 0; round < kRounds; ++round) {
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

TEST_F(PartitionedOnStreamOfDevice, DeliverPartitions_EachOfAThreadWithAStreamOfItsOwn) {
  if (!session_.options().wants_threads) GTEST_SKIP() << "started without --threads";
  std::vector<std::unique_ptr<ProgramStream> > streams;
  for (int i = 0; i < kPartitions; ++i) streams.push_back(std::make_unique<ProgramStream>());
  for (int round = 0; round < kRounds; ++round) {
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
}  // namespace sluice::tests::partitioned_on_stream_test

#endif
