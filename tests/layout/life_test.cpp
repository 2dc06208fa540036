// SPDX-License-Identifier: BSD-3-Clause
// How long layouts live, and who shares them.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "ops/datatype/layout_of.hpp"
#include "tests/layout/buffers.hpp"
#include "tests/layout/random_types.hpp"

namespace sluice::tests {
namespace {

MPI_Datatype make_vector(int k) {
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Datatype outer = MPI_DATATYPE_NULL;
  const wire::Host &mpi = wire::host();
  EXPECT_EQ(mpi.MPI_Type_vector(3 + k % 5, 1, 2, MPI_DOUBLE_INT, &inner), MPI_SUCCESS);
  EXPECT_EQ(mpi.MPI_Type_create_hvector(2, 1, 4096, inner, &outer), MPI_SUCCESS);
  EXPECT_EQ(mpi.MPI_Type_commit(&outer), MPI_SUCCESS);
  EXPECT_EQ(mpi.MPI_Type_free(&inner), MPI_SUCCESS);
  return outer;
}

TEST(LayoutLife, EndsWithTheType_WhenNobodyHoldsIt) {
  MPI_Datatype type = make_vector(0);
  transfer::LayoutPtr layout;
  ASSERT_TRUE(ops::layout_of(type, &layout).is_ok());
  transfer::LayoutPtr again;
  ASSERT_TRUE(ops::layout_of(type, &again).is_ok());
  EXPECT_EQ(layout, again);
  MPI_Datatype duplicate = MPI_DATATYPE_NULL;
  ASSERT_EQ(wire::host().MPI_Type_dup(type, &duplicate), MPI_SUCCESS);
  ASSERT_TRUE(ops::layout_of(duplicate, &again).is_ok());
  EXPECT_EQ(layout, again) << "a duplicate shares the layout";
  again.reset();
  ASSERT_EQ(wire::host().MPI_Type_free(&type), MPI_SUCCESS);
  ASSERT_EQ(wire::host().MPI_Type_free(&duplicate), MPI_SUCCESS);
  EXPECT_EQ(layout.use_count(), 1);
  EXPECT_EQ(layout->blocks.size(), 6U);  // a message in flight may hold it longer
}

// Types that come and go, with a duplicate each: the growth in use of the heap in bytes.
std::ptrdiff_t heap_growth(int n_cycles, bool asks_for_layouts) {
  const wire::Host &mpi = wire::host();
  std::size_t before = 0;
  for (int k = -n_cycles / 10; k < n_cycles; ++k) {
    if (k == 0) before = mallinfo2().uordblks;
    MPI_Datatype type = make_vector(k + n_cycles);
    MPI_Datatype duplicate = MPI_DATATYPE_NULL;
    transfer::LayoutPtr layout;
    EXPECT_TRUE(!asks_for_layouts || (ops::is_valid(type) && ops::layout_of(type, &layout).is_ok()));
    EXPECT_EQ(mpi.MPI_Type_dup(type, &duplicate), MPI_SUCCESS);
    EXPECT_TRUE(!asks_for_layouts || ops::layout_of(duplicate, &layout).is_ok());
    const std::weak_ptr<const transfer::Layout> watched = layout;
    layout.reset();
    EXPECT_EQ(mpi.MPI_Type_free(&type), MPI_SUCCESS);
    EXPECT_EQ(mpi.MPI_Type_free(&duplicate), MPI_SUCCESS);
    EXPECT_TRUE(watched.expired()) << "cycle " << k;
  }
  return static_cast<std::ptrdiff_t>(mallinfo2().uordblks - before);
}

TEST(LayoutLife, KeepsMemoryConstant_WhenTypesComeAndGo) {
  constexpr int kCycles = 10000;
  const std::ptrdiff_t by_host = heap_growth(kCycles, false);  // MPICH 4 leaks some of each type
  const std::ptrdiff_t by_both = heap_growth(kCycles, true);
  // A leak of one block a cycle would be 160 KiB at the least.
  EXPECT_LT(by_both, by_host + 16 * 1024) << "the host MPI alone: " << by_host;
  RecordProperty("host_growth_bytes", static_cast<int>(by_host));
  EXPECT_EQ(errors_seen(), "");
}

TEST(LayoutLife, IsTheSameForAll_WhenThreadsAskAtOnce) {
  int provided = MPI_THREAD_SINGLE;
  ASSERT_EQ(wire::host().MPI_Query_thread(&provided), MPI_SUCCESS);
  if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "the host MPI gives no MPI_THREAD_MULTIPLE";
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  std::atomic<int> n_wrong{0};
  for (int round = 0; round < kRounds; ++round) {
    MPI_Datatype shared = make_vector(round);
    std::vector<transfer::LayoutPtr> found(kThreads);
    std::vector<std::thread> threads;
    std::atomic<int> n_ready{0};
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        MPI_Datatype own = make_vector(t);
        ++n_ready;
        while (n_ready < kThreads) std::this_thread::yield();
        transfer::LayoutPtr mine;
        if (!ops::is_valid(shared) || !ops::layout_of(shared, &found[static_cast<std::size_t>(t)]).is_ok()) ++n_wrong;
        if (!ops::layout_of(own, &mine).is_ok() || mine->blocks.size() != 2U * static_cast<unsigned>(3 + t % 5)) {
          ++n_wrong;
        }
        if (wire::host().MPI_Type_free(&own) != MPI_SUCCESS) ++n_wrong;
      });
    }
    for (std::thread &thread : threads) thread.join();
    for (const transfer::LayoutPtr &layout : found) {
      if (layout != found[0]) ++n_wrong;
    }
    ASSERT_EQ(wire::host().MPI_Type_free(&shared), MPI_SUCCESS);
  }
  EXPECT_EQ(n_wrong, 0);
  EXPECT_EQ(errors_seen(), "");
}

// The last one: the communicator does not come back after it.
TEST(ZRelease, GivesBackAllAndStaysUsable) {
  MPI_Datatype type = make_vector(1);
  transfer::LayoutPtr before;
  ASSERT_TRUE(ops::layout_of(type, &before).is_ok());
  ops::release_datatypes();
  ops::release_datatypes();
  EXPECT_TRUE(ops::is_valid(type));
  transfer::LayoutPtr after;
  ASSERT_TRUE(ops::layout_of(type, &after).is_ok());
  EXPECT_EQ(difference(type, 2, *after), "");
  ASSERT_EQ(wire::host().MPI_Type_free(&type), MPI_SUCCESS);
  ops::release_datatypes();
  EXPECT_EQ(before.use_count(), 1);
  EXPECT_EQ(errors_seen(), "");
}

}  // namespace
}  // namespace sluice::tests
