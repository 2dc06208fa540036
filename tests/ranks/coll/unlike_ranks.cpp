// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one communicator with devices of several vendors, or one with no device at all: every call that moves or
// reduces, and messages between any two. Started with TEST_BACKEND on some ranks, and TEST_UNLIKE_RANKS on all.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include "tests/ranks/coll/moving.hpp"
#include "tests/ranks/coll/reducing.hpp"
#include "tests/ranks/coll/reduction_types.hpp"

namespace sluice::tests::unlike_ranks_test {
namespace {

class UnlikeRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TEST_UNLIKE_RANKS") == nullptr) GTEST_SKIP() << "missing: TEST_UNLIKE_RANKS, and unlike ranks";
    // That they are what the test is about.
    auto own = static_cast<unsigned long>(std::hash<std::string>{}(session_.options().backend));
    unsigned long least = 0;
    unsigned long most = 0;
    ASSERT_EQ(MPI_Allreduce(&own, &least, 1, MPI_UNSIGNED_LONG, MPI_MIN, session_.comm()), MPI_SUCCESS);
    ASSERT_EQ(MPI_Allreduce(&own, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, session_.comm()), MPI_SUCCESS);
    ASSERT_NE(least, most) << "all ranks have the same backend";
  }
  // A rank without a device takes part with host memory.
  Kind kind() const { return session_.has_kind(Kind::device) ? Kind::device : Kind::host; }

  const Session &session_ = Session::get();
};

TEST_F(UnlikeRanks, MoveWhatTheySend_InEveryCall) {
  int round = 0;
  for (const Moving &moving : movements()) {
    for (const int root : {0, session_.size() - 1}) {
      SCOPED_TRACE(std::string(moving.name) + " of " + std::to_string(root));
      ++round;
      const Buffers blocking(kind(), round);
      const Buffers started(kind(), round + 1000);
      MPI_Request request = MPI_REQUEST_NULL;
      ASSERT_EQ(moving.start(started, root, session_.comm(), &request), MPI_SUCCESS);
      ASSERT_EQ(moving.call(blocking, root, session_.comm()), MPI_SUCCESS);
      ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      expect_right(moving, blocking, root, round);
      expect_right(moving, started, root, round + 1000);
      if (session_.agree_any(HasFailure())) return;
    }
  }
}

TEST_F(UnlikeRanks, ReduceAsTheHostMpiDoes) {
  constexpr int kMost = 9'001;
  std::size_t turn = 0;
  for (const TypeCase &of : reduction_types()) {
    if (of.type != MPI_INT && of.type != MPI_DOUBLE && of.type != MPI_C_DOUBLE_COMPLEX) continue;
    for (const Reducing &reducing : reductions()) {
      for (const int count : {1, 333, kMost}) {
        const NamedOp &op = of.ops[turn % of.ops.size()];
        const ReductionShape shape = {count, 0, turn++ % 2 == 1};
        SCOPED_TRACE(std::string(reducing.name) + " of " + std::to_string(count) + " " + of.name + " " + op.name);
        Bytes results[2];
        const int n_in = reducing.n_in(shape);
        const int n_out = reducing.n_out(shape);
        Bytes input(static_cast<std::size_t>(std::max(n_in, n_out)) * of.size_bytes, kPoison);
        for (int i = 0; i < n_in; ++i) {
          of.make_exact(input.data() + static_cast<std::size_t>(i) * of.size_bytes, i, session_.rank());
        }
        for (const bool is_reference : {true, false}) {
          const Kind here = is_reference ? Kind::host : kind();
          const Memory in(session_.module(), here, input.size());
          const Memory out(session_.module(), here, input.size());
          in.write(0, input.data(), input.size());
          if (shape.is_in_place) out.write(0, input.data(), input.size());
          ASSERT_EQ(reducing.call(in.data(), out.data(), shape, of.type, op.op, session_.size() - 1, session_.comm()),
                    MPI_SUCCESS);
          results[is_reference ? 0 : 1] = out.read(0, static_cast<std::size_t>(n_out) * of.size_bytes);
        }
        EXPECT_EQ(find_difference(results[0], results[1]), "");
        if (session_.agree_any(HasFailure())) return;
      }
    }
  }
}

TEST_F(UnlikeRanks, SendEachOtherMessages) {
  int round = 0;
  for (const std::size_t size_bytes : {std::size_t{0}, std::size_t{64}, std::size_t{5'000}, std::size_t{3} << 20U}) {
    for (int distance = 1; distance < session_.size(); ++distance) {
      ++round;
      const int to = (session_.rank() + distance) % session_.size();
      const int from = (session_.rank() + session_.size() - distance) % session_.size();
      const Memory in(session_.module(), kind(), size_bytes);
      const Memory out(session_.module(), kind(), size_bytes);
      in.fill_pattern(session_.rank(), round);
      MPI_Status status;
      const auto count = static_cast<int>(size_bytes);
      ASSERT_EQ(MPI_Sendrecv(in.data(), count, MPI_BYTE, to, round, out.data(), count, MPI_BYTE, MPI_ANY_SOURCE, round,
                             session_.comm(), &status),
                MPI_SUCCESS);
      EXPECT_EQ(status.MPI_SOURCE, from);
      int n_received = 0;
      ASSERT_EQ(MPI_Get_count(&status, MPI_BYTE, &n_received), MPI_SUCCESS);
      EXPECT_EQ(n_received, count);
      EXPECT_EQ(find_pattern_error(out.read(), from, round), "") << size_bytes << " bytes from " << from;
    }
  }
}

}  // namespace
}  // namespace sluice::tests::unlike_ranks_test
