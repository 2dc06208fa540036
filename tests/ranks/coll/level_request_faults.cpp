// SPDX-License-Identifier: BSD-3-Clause
// Non-blocking MPI_Allreduce on several nodes where not all goes well: ranks that cannot, and one whose kernel fails.
// Each is started with a variable of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "tests/ranks/coll/level_sum.hpp"
#include "tests/ranks/coll/placement.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::level_request_faults_test {
namespace {

constexpr int kCount = Sum::kUsualCount;

// As shipped: ranks that have found one without device memory leave some questions out, and all the same ones.
TEST(LevelRequestAttempts, AreLeftOutInStep_AfterVainOnes) {
  const Session &session = Session::get();
  if (!session.has_kind(Kind::device) || std::getenv("TEST_LEVEL_ATTEMPTS") == nullptr) {
    GTEST_SKIP() << "missing: device memory, or TEST_LEVEL_ATTEMPTS";
  }
  MPI_Comm comm = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(session.comm(), &comm), MPI_SUCCESS);
  const long long before = calls_by("MPI_Ireduce_scatter", "kernel") / 2;
  // The last rank has host memory in the first five, of which two are left out; then six are, and three asked.
  std::vector<std::unique_ptr<Sum>> all;
  for (int i = 0; i < 14; ++i) {
    const bool has_host = i < 5 && session.rank() == session.size() - 1;
    all.push_back(std::make_unique<Sum>(has_host ? Kind::host : Kind::device, kCount, i, false));
    all.back()->start(comm);
  }
  for (const auto &sum : all) {
    ASSERT_EQ(MPI_Wait(&sum->request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    sum->check();
  }
  const Placement placement = find_placement();
  const int own = placement.node[static_cast<std::size_t>(session.rank())];
  const bool is_alone = std::count(placement.node.begin(), placement.node.end(), own) == 1;
  EXPECT_EQ(calls_by("MPI_Ireduce_scatter", "kernel") / 2 - before, is_alone ? 0 : 3);
  EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
}

// Started with a fault in force on one rank, where one kernel fails: with the first, which makes it ready, all stay
// flat; with a later one that call is an error on some rank, nobody waits for ever, and the next calls are right.
TEST(LevelRequestFault, KeepsAllFlat_OrIsAnErrorOfOneCall) {
  const Session &session = Session::get();
  const char *const expected = std::getenv("TEST_LEVEL_REQUEST_FAULT");
  if (!session.has_kind(Kind::device) || expected == nullptr) {
    GTEST_SKIP() << "missing: device memory, or TEST_LEVEL_REQUEST_FAULT";
  }
  const bool is_error = std::string_view(expected) == "error";
  const long long before = calls_by("MPI_Ireduce_scatter", "kernel");
  std::vector<std::unique_ptr<Sum>> all;
  for (int i = 0; i < 6; ++i) {
    all.push_back(std::make_unique<Sum>(Kind::device, kCount, i, false));
    all.back()->start(session.comm());
  }
  int n_failed = 0;
  for (const auto &sum : all) {
    int n_errors = MPI_Wait(&sum->request, MPI_STATUS_IGNORE) == MPI_SUCCESS ? 0 : 1;
    ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &n_errors, 1, MPI_INT, MPI_SUM, session.comm()), MPI_SUCCESS);
    if (n_errors == 0) sum->check();
    n_failed += n_errors == 0 ? 0 : 1;
  }
  EXPECT_EQ(n_failed, is_error ? 1 : 0);
  EXPECT_EQ(calls_by("MPI_Ireduce_scatter", "kernel") > before, is_error);
}

}  // namespace
}  // namespace sluice::tests::level_request_faults_test
