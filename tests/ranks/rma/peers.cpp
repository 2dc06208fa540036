// SPDX-License-Identifier: BSD-3-Clause
// A rank that is killed while others wait for its lock or access its window: the job ends, as with the host MPI alone.
// The test's registration looks at that end.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/ranks/rma/test_window.hpp"

namespace sluice::tests::rma_peers_test {
namespace {

// Until the job ends.
void access_for_ever(MPI_Win window, int target, const Memory &origin, const Memory &result) {
  EXPECT_EQ(MPI_Win_lock_all(0, window), MPI_SUCCESS);
  for (std::uint64_t i = 0; i + 1 != 0; ++i) {
    MPI_Put(origin.data(), 8, MPI_BYTE, target, 0, 8, MPI_BYTE, window);
    MPI_Fetch_and_op(origin.data(), result.data(), MPI_INT64_T, target, 8, MPI_SUM, window);
    MPI_Win_flush(target, window);
  }
}

TEST(WindowPeers, EndTheJob_WhenOneIsKilled) {
  const char *const set = std::getenv("TEST_PEER_DIES");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  if (set == nullptr) GTEST_SKIP() << "missing: TEST_PEER_DIES, `lock` or `target`";
  const Session &session = Session::get();
  if (!session.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  const bool holds_lock = set == std::string_view("lock");
  const Memory memory(session.module(), Kind::device, 16);
  const Memory origin(session.module(), Kind::device, 8);
  const Memory result(session.module(), Kind::device, 8);
  const TestWindow window(memory, 1);
  if (session.rank() == 1 && holds_lock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.get());
  MPI_Barrier(session.comm());
  if (session.rank() == 1) raise(SIGKILL);
  if (holds_lock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.get());
  if (!holds_lock) access_for_ever(window.get(), 1, origin, result);
  FAIL() << "the job goes on without a rank";
}

}  // namespace
}  // namespace sluice::tests::rma_peers_test
