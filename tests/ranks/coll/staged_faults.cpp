// SPDX-License-Identifier: BSD-3-Clause
// Staged blocking collective calls in which one rank cannot copy: every rank gets an error or the right result, and
// none waits for ever. Started with all copies of rank TEST_COPIES_FAIL_ON failing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "tests/ranks/coll/moving.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests::staged_faults_test {
namespace {

class StagedFaults : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const char *const text = std::getenv("TEST_COPIES_FAIL_ON");
    if (!session_.has_kind(Kind::device) || text == nullptr || session_.size() < 3) {
      GTEST_SKIP() << "missing: device memory, TEST_COPIES_FAIL_ON, or three ranks";
    }
    broken_ = std::atoi(text);
  }

  bool is_broken() const { return session_.rank() == broken_; }
  // Of all ranks but the broken one, which may have nothing else to stage with.
  Kind kind() const { return is_broken() ? Kind::device : GetParam(); }

  // Whether this rank's result is made of the broken rank's data, in an operation of that name.
  bool hangs_on_it(std::string_view name, int root) const {
    if (name == "MPI_Bcast" || name.starts_with("MPI_Scatter")) return root == broken_;
    if (name.starts_with("MPI_Gather") || name == "MPI_Reduce") return session_.rank() == root;
    if (name == "MPI_Scan" || name == "MPI_Exscan") return session_.rank() > broken_;
    return true;
  }
  // Whether it has to copy anything itself.
  bool copies(std::string_view name) const { return name != "MPI_Exscan" || is_broken(); }

  void expect_outcome(int code, std::string_view name, int root) const {
    if (is_broken() ? copies(name) : hangs_on_it(name, root)) {
      EXPECT_NE(code, MPI_SUCCESS) << name << " from or to " << root;
      char text[MPI_MAX_ERROR_STRING] = {};
      int length = 0;
      EXPECT_EQ(MPI_Error_string(code, text, &length), MPI_SUCCESS);
      const std::string_view wanted = is_broken() ? "sluice: " : "could not bring its data out of device memory";
      EXPECT_NE(std::string_view(text).find(wanted), std::string_view::npos) << text;
    } else {
      EXPECT_EQ(code, MPI_SUCCESS) << name << " from or to " << root;
    }
  }

  const Session &session_ = Session::get();
  int broken_ = 0;
};

TEST_P(StagedFaults, OfMovements_AreErrorsWhereTheDataAreMissed) {
  for (int round = 0; round < 3; ++round) {
    for (const Moving &moving : movements()) {
      for (int root = 0; root < session_.size(); ++root) {
        const Buffers buffers(kind(), round);
        const int code = moving.call(buffers, root, session_.comm());
        expect_outcome(code, moving.name, root);
        if (code == MPI_SUCCESS) expect_right(moving, buffers, root, round);
      }
    }
  }
}

TEST_P(StagedFaults, OfReductions_AreErrorsWhereTheDataAreMissed) {
  constexpr int kCount = 500;
  for (int root = 0; root < session_.size(); ++root) {
    const auto bytes = static_cast<std::size_t>(kCount) * sizeof(int);
    const Memory in(session_.module(), kind(), bytes);
    const Memory out(session_.module(), kind(), bytes);
    in.fill_pattern(session_.rank(), root);
    const MPI_Comm comm = session_.comm();
    expect_outcome(MPI_Reduce(in.data(), out.data(), kCount, MPI_INT, MPI_BXOR, root, comm), "MPI_Reduce", root);
    expect_outcome(MPI_Allreduce(in.data(), out.data(), kCount, MPI_INT, MPI_BXOR, comm), "MPI_Allreduce", root);
    expect_outcome(MPI_Exscan(in.data(), out.data(), kCount, MPI_INT, MPI_BXOR, comm), "MPI_Exscan", root);
    expect_outcome(MPI_Scan(in.data(), out.data(), kCount, MPI_INT, MPI_BXOR, comm), "MPI_Scan", root);
    if (session_.rank() == 0 && !is_broken()) {
      EXPECT_EQ(find_pattern_error(out.read(), 0, root), "");
    }
  }
}

// Two communicators of the same ranks, and one of fewer: what is said of one call is not taken for another's.
TEST_P(StagedFaults, AreOfOneCallAlone) {
  MPI_Comm second = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(session_.comm(), &second), MPI_SUCCESS);
  ASSERT_EQ(MPI_Comm_set_errhandler(second, MPI_ERRORS_RETURN), MPI_SUCCESS);
  const Moving &allgather = movement("MPI_Allgather");
  const Moving &gather = movement("MPI_Gather");
  const int other = broken_ == 0 ? 1 : 0;
  for (int round = 0; round < 4; ++round) {
    const Buffers buffers(kind(), round);
    expect_outcome(allgather.call(buffers, 0, session_.comm()), allgather.name, 0);
    int sum = 1;
    EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, second), MPI_SUCCESS) << "on host memory";
    EXPECT_EQ(sum, session_.size());
    expect_outcome(gather.call(buffers, other, second), gather.name, other);
    EXPECT_EQ(MPI_Barrier(session_.comm()), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Comm_free(&second), MPI_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Each, StagedFaults, testing::Values(Kind::device, Kind::host));

}  // namespace
}  // namespace sluice::tests::staged_faults_test
