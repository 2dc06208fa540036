// SPDX-License-Identifier: BSD-3-Clause
// SLUICE_REDUCE_ORDER=rank: reductions of numbers that are rounded come to what the ranks' inputs give one after the
// other from the left, in every bit, whoever computes them. Started with that.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ranks/coll/reduction_types.hpp"
#include "tests/support/memory.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests {
namespace {

class RankOrder : public testing::Test {
 protected:
  void SetUp() override {
    if (!session_.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
    const char *order = std::getenv("SLUICE_REDUCE_ORDER");
    const bool is_kept = order != nullptr && std::string_view(order) == "rank";
    // A checker of this test wants it in another order.
    if (!is_kept && std::getenv("TEST_RANK_ORDER") == nullptr) GTEST_SKIP() << "missing: SLUICE_REDUCE_ORDER=rank";
  }

  // This rank's input, and what the inputs of the first `n_ranks` ranks come to, from the left.
  std::vector<float> input(std::size_t count) const { return folded(count, session_.rank(), 1); }
  static std::vector<float> folded(std::size_t count, int first_rank, int n_ranks) {
    std::vector<float> result(count);
    for (int rank = first_rank; rank < first_rank + n_ranks; ++rank) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto number = rounded_number<float>(static_cast<int>(i), rank);
        result[i] = rank == first_rank ? number : result[i] + number;
      }
    }
    return result;
  }
  static void expect(const std::vector<float> &wanted, const Memory &memory, std::size_t first, std::size_t count,
                     const std::string &what) {
    if (count == 0) return;
    const Bytes found = memory.read(0, count * sizeof(float));
    EXPECT_EQ(std::memcmp(wanted.data() + first, found.data(), count * sizeof(float)), 0) << what;
  }
  Memory buffer(const std::vector<float> &numbers, Kind kind) const {
    Memory memory(session_.module(), kind, numbers.size() * sizeof(float));
    memory.write(0, numbers.data(), numbers.size() * sizeof(float));
    return memory;
  }

  const Session &session_ = Session::get();
  const int n_ = session_.size();
};

constexpr int kCount = 3'001;

TEST_F(RankOrder, IsKeptByWhatEveryRankGets) {
  const std::vector<float> mine = input(kCount);
  const std::vector<float> all = folded(kCount, 0, n_);
  // The last: one rank has host memory, so that nothing is computed by devices together.
  for (const char *form : {"apart", "in place", "mixed"}) {
    const bool is_mixed = std::string_view(form) == "mixed" && session_.rank() == n_ - 1;
    const Kind kind = is_mixed ? Kind::host : Kind::device;
    const bool is_in_place = std::string_view(form) == "in place";
    const Memory in = buffer(mine, kind);
    Memory out = buffer(mine, kind);
    const void *from = is_in_place ? MPI_IN_PLACE : in.data();
    ASSERT_EQ(MPI_Allreduce(from, out.data(), kCount, MPI_FLOAT, MPI_SUM, session_.comm()), MPI_SUCCESS);
    expect(all, out, 0, kCount, std::string("MPI_Allreduce ") + form);
    out = buffer(mine, kind);
    for (int root = 0; root < n_; ++root) {
      const bool is_root = root == session_.rank();
      const Memory at_root = buffer(mine, kind);
      const void *input_here = is_in_place && is_root ? MPI_IN_PLACE : in.data();
      ASSERT_EQ(
          MPI_Reduce(input_here, is_root ? at_root.data() : nullptr, kCount, MPI_FLOAT, MPI_SUM, root, session_.comm()),
          MPI_SUCCESS);
      if (is_root) expect(all, at_root, 0, kCount, std::string("MPI_Reduce ") + form);
    }
    ASSERT_EQ(MPI_Scan(from, out.data(), kCount, MPI_FLOAT, MPI_SUM, session_.comm()), MPI_SUCCESS);
    expect(folded(kCount, 0, session_.rank() + 1), out, 0, kCount, std::string("MPI_Scan ") + form);
    out = buffer(mine, kind);
    ASSERT_EQ(MPI_Exscan(from, out.data(), kCount, MPI_FLOAT, MPI_SUM, session_.comm()), MPI_SUCCESS);
    if (session_.rank() > 0) {
      expect(folded(kCount, 0, session_.rank()), out, 0, kCount, std::string("MPI_Exscan ") + form);
    }
  }
}

TEST_F(RankOrder, IsKeptByBlocks) {
  for (const bool is_in_place : {false, true}) {
    for (const bool is_staged : {false, true}) {
      const Kind kind = is_staged && session_.rank() == 0 ? Kind::host : Kind::device;
      const auto n = static_cast<std::size_t>(n_);
      const auto own = static_cast<std::size_t>(session_.rank());
      const std::vector<float> numbers = input(kCount * n);
      const std::vector<float> all = folded(kCount * n, 0, n_);
      const Memory in = buffer(numbers, kind);
      Memory out = buffer(numbers, kind);
      const void *from = is_in_place ? MPI_IN_PLACE : in.data();
      ASSERT_EQ(MPI_Reduce_scatter_block(from, out.data(), kCount, MPI_FLOAT, MPI_SUM, session_.comm()), MPI_SUCCESS);
      expect(all, out, own * kCount, kCount, "MPI_Reduce_scatter_block");
      std::vector<int> counts;
      std::size_t place = 0;
      for (std::size_t rank = 0; rank < n; ++rank) {
        counts.push_back(rank == 1 ? 0 : 1000 + static_cast<int>(n - rank));
        if (rank < own) place += static_cast<std::size_t>(counts.back());
      }
      out = buffer(numbers, kind);
      ASSERT_EQ(MPI_Reduce_scatter(from, out.data(), counts.data(), MPI_FLOAT, MPI_SUM, session_.comm()), MPI_SUCCESS);
      expect(all, out, place, static_cast<std::size_t>(counts[own]), "MPI_Reduce_scatter");
    }
  }
}

}  // namespace
}  // namespace sluice::tests
