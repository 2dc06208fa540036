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

#include <memory>
#include <vector>

#include "tests/ranks/p2p/partition_functions.hpp"
#include "tests/ranks/p2p/partitioned_exchange.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/program_stream.hpp"

namespace sluice::tests::partitioned_on_stream_test {
namespace {

constexpr int kLooks = 50;

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
    for (int round = 0; round < kRoundsOnStream; ++round) side.run_round(round, round % 2 == 1);
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
    for (int round = 0; round < kRoundsOnStream; ++round) side.run_mixed_round(round);
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

}  // namespace
}  // namespace sluice::tests::partitioned_on_stream_test

#endif
