// SPDX-License-Identifier: BSD-3-Clause
// MPI_Bcast, MPI_Allgather and MPI_Allgatherv on several nodes in two levels: that they go so where they can, by which
// form, and that all ranks decide alike. Started with SLUICE_NODE different on some ranks, SLUICE_COLL_IPC=always,
// thresholds of 0 and statistics; the results are also compared by all the other tests of this program, started the
// same way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/placement.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::levels_test {
namespace {

class Levels : public testing::Test {
 protected:
  void SetUp() override {
    if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    const char *mode = std::getenv("SLUICE_COLL_IPC");
    if (mode == nullptr || std::string_view(mode) != "always" || session_.size() < 3)
      GTEST_SKIP() << "missing: SLUICE_COLL_IPC=always, or three ranks";
    placement_ = find_placement();
    if (placement_.n_nodes < 2) GTEST_SKIP() << "missing: two hosts, or SLUICE_NODE, different on some ranks";
    const int own = placement_.node[static_cast<std::size_t>(session_.rank())];
    is_alone_ = std::count(placement_.node.begin(), placement_.node.end(), own) == 1;
  }

  const Session &session_ = Session::get();
  Placement placement_;
  bool is_alone_ = false;  // on its node
};

// tests/launch --hosts: that the host MPI has the ranks on two hosts, as TEST_HOSTS says, and not on one.
TEST(LevelHosts, AreTakenForTwoByTheHostMpi) {
  if (std::getenv("TEST_HOSTS") == nullptr) GTEST_SKIP() << "missing: TEST_HOSTS";
  const Session &session = Session::get();
  MPI_Comm node = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_split_type(session.comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), MPI_SUCCESS);
  int rank = 0;
  ASSERT_EQ(MPI_Comm_rank(node, &rank), MPI_SUCCESS);
  int n_first = rank == 0 ? 1 : 0;
  ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &n_first, 1, MPI_INT, MPI_SUM, session.comm()), MPI_SUCCESS);
  EXPECT_EQ(n_first, 2);
  EXPECT_EQ(MPI_Comm_free(&node), MPI_SUCCESS);
}

Case all_on_device() {
  return {Kind::device, Kind::device, 0};
}

TEST_F(Levels, BcastGoesInLanes_OrByLeadersWhereTheNodesAreUnlike) {
  const char *step = placement_.is_uniform ? "MPI_Allgatherv" : "MPI_Bcast";
  for (const std::size_t size_bytes : {std::size_t{1}, std::size_t{5'000}, std::size_t{70'001}}) {
    for (int root = 0; root < session_.size(); ++root) {
      const long long before = calls_by(step, "ipc");
      compare_with_host(all_on_device(), [&](Trial &run) {
        const Memory &buffer = session_.rank() == root ? run.input(size_bytes) : run.output(size_bytes);
        run.call("MPI_Bcast", MPI_Bcast(buffer.data(), static_cast<int>(size_bytes), MPI_BYTE, root, session_.comm()));
      });
      const bool is_root_alone_there = !placement_.is_uniform && is_alone_;
      if (is_root_alone_there) continue;
      EXPECT_GT(calls_by(step, "ipc"), before) << size_bytes << " bytes from " << root << ": not in two levels";
    }
  }
}

TEST_F(Levels, BcastOfATypeWithGapsGoesByLeaders) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_vector(160, 3, 7, MPI_INT, &type), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
  const std::size_t bytes = 160 * 7 * sizeof(int);
  for (int root = 0; root < session_.size(); ++root) {
    const long long before = calls_by("MPI_Bcast", "ipc");
    compare_with_host(all_on_device(), [&](Trial &run) {
      const Memory &buffer = session_.rank() == root ? run.input(bytes) : run.output(bytes);
      run.call("MPI_Bcast", MPI_Bcast(buffer.data(), 1, type, root, session_.comm()));
    });
    if (is_alone_) continue;
    EXPECT_GT(calls_by("MPI_Bcast", "ipc"), before) << "from " << root;
  }
  EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
}

TEST_F(Levels, AllgatherGoesInLanes_WhereTheNodesAreAlikeAndInOrder) {
  const bool is_expected = placement_.is_uniform && placement_.is_node_major;
  for (const bool is_in_place : {false, true}) {
    for (const int count : {1, 700, 9'001}) {
      const long long before = calls_by("MPI_Allgather", "ipc");
      compare_with_host(all_on_device(), [&](Trial &run) {
        const auto bytes = static_cast<std::size_t>(count) * sizeof(int);
        const Memory &in = run.input(bytes);
        const Memory &out = run.buffer(Kind::device, bytes * static_cast<std::size_t>(session_.size()));
        run.refill(out, 3);
        run.call("MPI_Allgather", MPI_Allgather(is_in_place ? MPI_IN_PLACE : in.data(), count, MPI_INT, out.data(),
                                                count, MPI_INT, session_.comm()));
      });
      if (is_expected) {
        EXPECT_GT(calls_by("MPI_Allgather", "ipc"), before) << count << " ints: not in two levels";
      } else {
        EXPECT_EQ(calls_by("MPI_Allgather", "ipc"), before) << count << " ints";
      }
    }
  }
}

// Blocks of unlike lengths, some of none, from the last to the first with gaps between them.
TEST_F(Levels, AllgathervGoesInLanes_WhereTheNodesAreAlikeAndInOrder) {
  const bool is_expected = placement_.is_uniform && placement_.is_node_major;
  const int n_ranks = session_.size();
  for (const int count : {1, 700, 9'001}) {
    std::vector<int> counts;
    std::vector<int> places;
    int all = 0;
    for (int rank = n_ranks; rank-- > 0;) {
      counts.insert(counts.begin(), rank == 1 ? 0 : count + rank);
      places.insert(places.begin(), all);
      all += counts.front() + 3;
    }
    const int own = counts[static_cast<std::size_t>(session_.rank())];
    for (const bool is_in_place : {false, true}) {
      const long long before = calls_by("MPI_Allgatherv", "ipc");
      compare_with_host(all_on_device(), [&](Trial &run) {
        const Memory &in = run.input(static_cast<std::size_t>(count + n_ranks) * sizeof(int));
        const Memory &out = run.buffer(Kind::device, static_cast<std::size_t>(all) * sizeof(int));
        run.refill(out, 3);
        run.call("MPI_Allgatherv", MPI_Allgatherv(is_in_place ? MPI_IN_PLACE : in.data(), own, MPI_INT, out.data(),
                                                  counts.data(), places.data(), MPI_INT, session_.comm()));
      });
      if (is_expected) {
        EXPECT_GT(calls_by("MPI_Allgatherv", "ipc"), before) << count << " ints: not in two levels";
      } else {
        EXPECT_EQ(calls_by("MPI_Allgatherv", "ipc"), before) << count << " ints";
      }
    }
  }
}

TEST_F(Levels, StaysFlat_WhenOneRankHasHostMemory) {
  constexpr std::size_t kSize = 20'000;
  for (int host_rank = 0; host_rank < session_.size(); ++host_rank) {
    const Kind kind = session_.rank() == host_rank ? Kind::host : Kind::device;
    const long long before = calls_by("MPI_Allgatherv", "ipc") + calls_by("MPI_Bcast", "ipc");
    compare_with_host(all_on_device(), [&](Trial &run) {
      const Memory &buffer = run.buffer(kind, kSize);
      run.refill(buffer, session_.rank() == 0 ? 1 : 2);
      run.call("MPI_Bcast", MPI_Bcast(buffer.data(), static_cast<int>(kSize), MPI_BYTE, 0, session_.comm()));
    });
    EXPECT_EQ(calls_by("MPI_Allgatherv", "ipc") + calls_by("MPI_Bcast", "ipc"), before)
        << "host memory on " << host_rank;
  }
}

TEST_F(Levels, GoWithTheirCommunicator) {
  const int n = session_.options().is_full ? 500 : 20;
  for (int round = 0; round < n; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm), MPI_SUCCESS);
    const Memory buffer(session_.module(), Kind::device, kBlockBytes);
    if (session_.rank() == 0) buffer.fill_pattern(0, round);
    EXPECT_EQ(MPI_Bcast(buffer.data(), kBlockCount, MPI_BYTE, 0, comm), MPI_SUCCESS);
    EXPECT_EQ(find_pattern_error(buffer.read(0, kBlockBytes), 0, round), "");
    ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  }
}

}  // namespace
}  // namespace sluice::tests::levels_test
