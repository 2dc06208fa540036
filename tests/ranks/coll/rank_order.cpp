// SPDX-License-Identifier: BSD-3-Clause
// SLUICE_REDUCE_ORDER=rank: reductions of numbers that are rounded come to what the ranks' inputs give one after the
// other from the left, in every bit, whoever computes them. Started with that.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/ranks/coll/reducing.hpp"
#include "tests/ranks/coll/reduction_types.hpp"
#include "tests/ranks/coll/rounding.hpp"
#include "tests/support/memory.hpp"
#include "tests/support/session.hpp"

namespace sluice::tests::rank_order_test {
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

  // This rank's input, and what the inputs of the first `n_ranks` ranks come to, from the left. Other calls of a test
  // have another `salt`.
  std::vector<float> input(std::size_t count, int salt = 0) const { return folded(count, session_.rank(), 1, salt); }
  static std::vector<float> folded(std::size_t count, int first_rank, int n_ranks, int salt = 0) {
    std::vector<float> result(count);
    for (int rank = first_rank; rank < first_rank + n_ranks; ++rank) {
      for (std::size_t i = 0; i < count; ++i) {
        const auto number = rounded_number<float>(static_cast<int>(i) + 5 * salt, rank);
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
  void expect_order(const Reducing &reducing, const TypeCase &of, const NamedOp &op, const ReductionShape &shape,
                    Kind kind) const;
  Memory buffer(const std::vector<float> &numbers, Kind kind) const {
    Memory memory(session_.module(), kind, numbers.size() * sizeof(float));
    memory.write(0, numbers.data(), numbers.size() * sizeof(float));
    return memory;
  }

  const Session &session_ = Session::get();
  const int n_ = session_.size();
};

constexpr int kCount = 3'001;

void RankOrder::expect_order(const Reducing &reducing, const TypeCase &of, const NamedOp &op,
                             const ReductionShape &shape, Kind kind) const {
  const int n_in = reducing.n_in(shape);
  const int n_out = reducing.n_out(shape);
  const std::string_view name = reducing.name;
  // Whose inputs come together here, and where in them the result begins.
  const int n_folded = name == "MPI_Scan" ? session_.rank() + 1 : name == "MPI_Exscan" ? session_.rank() : n_;
  int first = 0;
  if (is_scattering(reducing)) {
    ASSERT_EQ(MPI_Exscan(&n_out, &first, 1, MPI_INT, MPI_SUM, session_.comm()), MPI_SUCCESS);
    if (session_.rank() == 0) first = 0;
  }
  const Bytes mine = rounded_input(of, session_.rank(), n_in);
  const std::size_t size_bytes = static_cast<std::size_t>(std::max(n_in, n_out)) * of.size_bytes;
  const Memory in(session_.module(), kind, size_bytes);
  const Memory out(session_.module(), kind, size_bytes);
  for (const Memory *memory : {&in, &out}) memory->write(0, mine.data(), mine.size());
  const int root = n_ / 2;
  ASSERT_EQ(reducing.call(in.data(), out.data(), shape, of.type, op.op, root, session_.comm()), MPI_SUCCESS);
  if (n_folded == 0 || (name == "MPI_Reduce" && session_.rank() != root)) return;
  const Bytes all = folded_in_order(of, op.op, n_folded, n_in);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first) * static_cast<std::ptrdiff_t>(of.size_bytes);
  const auto n_bytes = static_cast<std::ptrdiff_t>(n_out) * static_cast<std::ptrdiff_t>(of.size_bytes);
  Bytes wanted(begin, begin + n_bytes);
  Bytes found = out.read(0, static_cast<std::size_t>(n_bytes));
  forget_overflows(of, &wanted, &found);
  EXPECT_EQ(find_difference(wanted, found), "");
}

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

// Sums and products of all types that round, by devices together, and where one rank has host memory.
TEST_F(RankOrder, IsKept_ForEveryTypeThatRounds) {
  constexpr int kFew = 501;
  std::size_t turn = 0;
  for (const TypeCase &of : reduction_types()) {
    for (const NamedOp &op : of.ops) {
      if (of.n_parts == 0 || (op.op != MPI_SUM && op.op != MPI_PROD)) continue;
      for (const Reducing &reducing : reductions()) {
        // In place or not, and the memory of all on the device or not, in turn.
        const bool is_in_place = turn % 2 == 1;
        const bool is_mixed = turn++ / 2 % 2 == 1;
        SCOPED_TRACE(std::string(reducing.name) + " " + of.name + " " + op.name + (is_mixed ? ", mixed" : ""));
        expect_order(reducing, of, op, {kFew, 0, is_in_place},
                     is_mixed && session_.rank() == n_ - 1 ? Kind::host : Kind::device);
        if (session_.agree_any(HasFailure())) return;
      }
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

// A call under way, and what has to come of it at this rank.
struct UnderWay {
  Memory in;
  Memory out;
  std::vector<float> wanted;
  std::string what;
  MPI_Request request = MPI_REQUEST_NULL;
};

class RankOrderRequests : public RankOrder {
 protected:
  void SetUp() override {
    RankOrder::SetUp();
    for (int i = 0; i < n_; ++i) counts_.push_back(i == 1 ? 0 : 1000 + n_ - i);
  }

  // Where a call's memory lies: everywhere on the device, everywhere in the host's, or there at the last rank alone.
  enum class Where { kDevice, kHost, kMixed };

  UnderWay &prepare(Where where, int salt, std::size_t count, std::vector<float> wanted, std::string what) {
    const bool is_host = where == Where::kHost || (where == Where::kMixed && session_.rank() == n_ - 1);
    const Kind kind = is_host ? Kind::host : Kind::device;
    const std::vector<float> mine = input(count, salt);
    const std::vector<float> poison(std::max<std::size_t>(wanted.size(), 1), -1.0F);
    calls_.push_back(std::make_unique<UnderWay>(
        UnderWay{buffer(mine, kind), buffer(poison, kind), std::move(wanted), std::move(what)}));
    return *calls_.back();
  }
  void start_all(Where where, int salt, MPI_Comm comm);
  // The last first.
  void complete_all() {
    for (; !calls_.empty(); calls_.pop_back()) {
      UnderWay &one = *calls_.back();
      ASSERT_EQ(MPI_Wait(&one.request, MPI_STATUS_IGNORE), MPI_SUCCESS) << one.what;
      expect(one.wanted, one.out, 0, one.wanted.size(), one.what);
    }
  }

  std::vector<int> counts_;  // of the blocks that are not all as long
  std::vector<std::unique_ptr<UnderWay>> calls_;
};

void RankOrderRequests::start_all(Where where, int salt, MPI_Comm comm) {
  const int rank = session_.rank();
  const auto n = static_cast<std::size_t>(n_);
  const auto own = static_cast<std::size_t>(rank);
  const std::vector<float> all = folded(kCount, 0, n_, salt);
  UnderWay &everywhere = prepare(where, salt, kCount, all, "MPI_Iallreduce");
  ASSERT_EQ(MPI_Iallreduce(everywhere.in.data(), everywhere.out.data(), kCount, MPI_FLOAT, MPI_SUM, comm,
                           &everywhere.request),
            MPI_SUCCESS);
  for (const int root : {0, n_ - 1}) {
    UnderWay &one = prepare(where, salt, kCount, rank == root ? all : std::vector<float>(), "MPI_Ireduce");
    ASSERT_EQ(MPI_Ireduce(one.in.data(), rank == root ? one.out.data() : nullptr, kCount, MPI_FLOAT, MPI_SUM, root,
                          comm, &one.request),
              MPI_SUCCESS);
  }
  UnderWay &scan = prepare(where, salt, kCount, folded(kCount, 0, rank + 1, salt), "MPI_Iscan");
  ASSERT_EQ(MPI_Iscan(scan.in.data(), scan.out.data(), kCount, MPI_FLOAT, MPI_SUM, comm, &scan.request), MPI_SUCCESS);
  UnderWay &before =
      prepare(where, salt, kCount, rank == 0 ? std::vector<float>(kCount, -1.0F) : folded(kCount, 0, rank, salt),
              "MPI_Iexscan");
  ASSERT_EQ(MPI_Iexscan(before.in.data(), before.out.data(), kCount, MPI_FLOAT, MPI_SUM, comm, &before.request),
            MPI_SUCCESS);
  const std::vector<float> blocks = folded(kCount * n, 0, n_, salt);
  const auto part_of = [&](std::size_t place, std::size_t count) {
    const auto first = blocks.begin() + static_cast<std::ptrdiff_t>(place);
    return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(count));
  };
  UnderWay &block = prepare(where, salt, kCount * n, part_of(own * kCount, kCount), "MPI_Ireduce_scatter_block");
  ASSERT_EQ(
      MPI_Ireduce_scatter_block(block.in.data(), block.out.data(), kCount, MPI_FLOAT, MPI_SUM, comm, &block.request),
      MPI_SUCCESS);
  std::size_t place = 0;
  for (std::size_t i = 0; i < own; ++i) place += static_cast<std::size_t>(counts_[i]);
  UnderWay &uneven =
      prepare(where, salt, kCount * n, part_of(place, static_cast<std::size_t>(counts_[own])), "MPI_Ireduce_scatter");
  ASSERT_EQ(MPI_Ireduce_scatter(uneven.in.data(), uneven.out.data(), counts_.data(), MPI_FLOAT, MPI_SUM, comm,
                                &uneven.request),
            MPI_SUCCESS);
}

// Many under way on one communicator, beside a blocking one; several rounds, with other data each.
TEST_F(RankOrderRequests, KeepItWhereverTheMemoryLies) {
  int salt = 0;
  for (const Where where : {Where::kDevice, Where::kHost, Where::kMixed, Where::kDevice}) {
    ASSERT_NO_FATAL_FAILURE(start_all(where, ++salt, session_.comm()));
    ASSERT_NO_FATAL_FAILURE(start_all(Where::kMixed, ++salt, session_.comm()));
    const Memory in = buffer(input(kCount), Kind::device);
    const Memory out = buffer(input(kCount, 1), Kind::device);
    ASSERT_EQ(MPI_Allreduce(in.data(), out.data(), kCount, MPI_FLOAT, MPI_SUM, session_.comm()), MPI_SUCCESS);
    expect(folded(kCount, 0, n_), out, 0, kCount, "MPI_Allreduce beside them");
    ASSERT_NO_FATAL_FAILURE(complete_all());
  }
}

// More elements than are folded at a time, in place.
TEST_F(RankOrderRequests, KeepItInALongCall) {
  constexpr int kLong = (1 << 21) + 77;
  UnderWay &one = prepare(Where::kMixed, 3, kLong, folded(kLong, 0, n_, 3), "MPI_Iallreduce of two parts");
  one.out = buffer(input(kLong, 3), session_.rank() == n_ - 1 ? Kind::host : Kind::device);
  ASSERT_EQ(MPI_Iallreduce(MPI_IN_PLACE, one.out.data(), kLong, MPI_FLOAT, MPI_SUM, session_.comm(), &one.request),
            MPI_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(complete_all());
}

// Not all ranks come to the communicators in the same order.
TEST_F(RankOrderRequests, OfTwoCommunicatorsAreApart) {
  MPI_Comm other = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(session_.comm(), &other), MPI_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    const bool is_other_first = (session_.rank() + round) % 2 == 0;
    for (const bool is_other : {is_other_first, !is_other_first}) {
      ASSERT_NO_FATAL_FAILURE(start_all(Where::kMixed, is_other ? 20 : 30 + round, is_other ? other : session_.comm()));
    }
    ASSERT_NO_FATAL_FAILURE(complete_all());
  }
  ASSERT_EQ(MPI_Comm_free(&other), MPI_SUCCESS);
}

TEST_F(RankOrderRequests, OutliveTheirCommunicator) {
  MPI_Comm comm = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(session_.comm(), &comm), MPI_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(start_all(Where::kMixed, 9, comm));
  ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(complete_all());
}

#if MPI_VERSION >= 4
TEST_F(RankOrderRequests, KeepItAtEachStart) {
  for (const Where where : {Where::kDevice, Where::kHost, Where::kMixed}) {
    UnderWay &sum = prepare(where, 0, kCount, std::vector<float>(kCount), "MPI_Allreduce_init");
    UnderWay &scan = prepare(where, 0, kCount, std::vector<float>(kCount), "MPI_Scan_init");
    ASSERT_EQ(MPI_Allreduce_init(sum.in.data(), sum.out.data(), kCount, MPI_FLOAT, MPI_SUM, session_.comm(),
                                 MPI_INFO_NULL, &sum.request),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Scan_init(scan.in.data(), scan.out.data(), kCount, MPI_FLOAT, MPI_SUM, session_.comm(), MPI_INFO_NULL,
                            &scan.request),
              MPI_SUCCESS);
    for (int start = 0; start < 3; ++start) {
      for (UnderWay *one : {&sum, &scan}) one->in.write(0, input(kCount, start).data(), kCount * sizeof(float));
      std::array requests = {sum.request, scan.request};
      ASSERT_EQ(MPI_Startall(2, requests.data()), MPI_SUCCESS);
      ASSERT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      expect(folded(kCount, 0, n_, start), sum.out, 0, kCount, sum.what);
      expect(folded(kCount, 0, session_.rank() + 1, start), scan.out, 0, kCount, scan.what);
    }
    for (UnderWay *one : {&sum, &scan}) ASSERT_EQ(MPI_Request_free(&one->request), MPI_SUCCESS);
  }
}
#endif

}  // namespace
}  // namespace sluice::tests::rank_order_test
