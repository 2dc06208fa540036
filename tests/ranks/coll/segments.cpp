// SPDX-License-Identifier: BSD-3-Clause
// Staged collective operations in segments: that they go so where a rank has device memory, that ranks with host memory
// make the same calls, and that an error comes to all. Started with SLUICE_COLL_SEGMENTS=always, a threshold of 0,
// short segments, SLUICE_COLL_IPC=off and statistics; the results are also compared by all the other tests of this
// program, started the same way.
#include <gtest/gtest.h>

#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/segmented.hpp"

namespace sluice::tests::segments_test {
namespace {

class Segments : public Segmented {
 protected:
  // How many calls of `moving` went in segments on any rank, while they exchanged blocks of the kind.
  int exchange(const Moving &moving, Kind kind, int root, int round) const {
    const Buffers buffers(kind, round);
    const long long before = calls_by(moving.name, "pipelined");
    EXPECT_GE(before, 0) << "no statistics";
    EXPECT_EQ(moving.call(buffers, root, session_.comm()), MPI_SUCCESS) << moving.name;
    expect_right(moving, buffers, root, round);
    int n = static_cast<int>(calls_by(moving.name, "pipelined") - before);
    EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, session_.comm()), MPI_SUCCESS);
    return n;
  }
};

TEST_F(Segments, AreTaken_WhenAllHaveDeviceMemory) {
  for (const Moving &moving : movements()) {
    for (int root = 0; root < session_.size(); ++root) {
      EXPECT_GE(exchange(moving, Kind::device, root, root), session_.size()) << moving.name;
    }
  }
}

TEST_F(Segments, AreTakenByRanksWithHostMemoryToo) {
  for (const Moving &moving : movements()) {
    for (int host_rank = 0; host_rank < session_.size(); ++host_rank) {
      const Kind kind = session_.rank() == host_rank ? Kind::host : Kind::device;
      EXPECT_GE(exchange(moving, kind, 0, host_rank), session_.size() - 1) << moving.name << " host " << host_rank;
      const Kind other = session_.rank() == host_rank ? Kind::device : Kind::host;
      EXPECT_GE(exchange(moving, other, 0, host_rank), 1) << moving.name << " device " << host_rank;
    }
  }
}

TEST_F(Segments, AreNotTaken_WhenAllHaveHostMemory) {
  for (const Moving &moving : movements()) EXPECT_EQ(exchange(moving, Kind::host, 0, 1), 0) << moving.name;
}

TEST_F(Segments, AreNotTaken_WhereOneRankHasGaps) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  constexpr int kRuns = 2'000;
  ASSERT_EQ(MPI_Type_vector(kRuns, 3, 5, MPI_INT, &type), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
  const bool has_gaps = session_.rank() == session_.size() - 1;
  const long long before = calls_by("MPI_Bcast", "pipelined");
  compare_with_host({Kind::device, Kind::device, 0}, [&](Trial &run) {
    const std::size_t bytes = sizeof(int) * kRuns * (has_gaps ? 5 : 3);
    const Memory &buffer = session_.rank() == 0 ? run.input(bytes) : run.output(bytes);
    run.call("MPI_Bcast", has_gaps ? MPI_Bcast(buffer.data(), 1, type, 0, session_.comm())
                                   : MPI_Bcast(buffer.data(), kRuns * 3, MPI_INT, 0, session_.comm()));
  });
  EXPECT_EQ(calls_by("MPI_Bcast", "pipelined"), before);
  EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
}

// With a fault in force on one rank: one of its copies fails, once. All get an error, and the next calls work.
TEST_F(Segments, ReturnAnErrorEverywhere_WhenACopyFails) {
  const auto gather_all = [&](int round) {
    const Buffers buffers(Kind::device, round);
    const int code = MPI_Allgather(buffers.in.data(), kBlockCount, MPI_BYTE, buffers.out.data(), kBlockCount, MPI_BYTE,
                                   session_.comm());
    if (code == MPI_SUCCESS) expect_right(movement("MPI_Allgather"), buffers, 0, round);
    return code;
  };
  EXPECT_NE(gather_all(0), MPI_SUCCESS);
  EXPECT_EQ(gather_all(1), MPI_SUCCESS);
  EXPECT_EQ(gather_all(2), MPI_SUCCESS);
}

}  // namespace
}  // namespace sluice::tests::segments_test
