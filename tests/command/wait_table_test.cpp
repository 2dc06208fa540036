// SPDX-License-Identifier: BSD-3-Clause
// The table of waits as the library writes it and the doctor reads it; torn, forged and short files.
#include "command/wait_table.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>

#include "base/file_descriptor.hpp"

namespace sluice::command::wait_table_test {
namespace {

using waiting::Page;
using waiting::Wait;

// The library's own table, taken away at the end.
class WaitTableTest : public testing::Test {
 protected:
  void SetUp() override {
    waiting::open(3, 8);
    if (waiting::descriptor() < 0) GTEST_SKIP() << "the kernel gives no memory file";
  }
  void TearDown() override { waiting::close(); }
};

Wait some_wait() {
  Wait wait;
  wait.peer = 1;
  wait.world_peer = 1;
  wait.tag = 7;
  waiting::put("MPI_Recv", &wait.function);
  return wait;
}

Look look() {
  return look_at_table(waiting::descriptor()).value();
}

template <typename Value>
Look with(Look look, std::size_t offset, Value value) {
  std::memcpy(look.bytes.data() + offset, &value, sizeof value);
  return look;
}

void tell_nothing(const void * /*subject*/, Wait *wait) noexcept {
  waiting::put("MPI_Wait", &wait->function);
}

TEST_F(WaitTableTest, HasWhatWasWrittenUntilItIsCleared) {
  waiting::write(some_wait());
  const std::optional<WaitTable> table = compare_looks(look(), look());
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->pid, getpid());
  EXPECT_EQ(table->rank, 3);
  ASSERT_EQ(table->waits.size(), 1U);
  EXPECT_EQ(table->waits[0].function, "MPI_Recv");
  EXPECT_EQ(table->waits[0].wait.tag, 7);
  waiting::clear();
  EXPECT_TRUE(compare_looks(look(), look())->waits.empty());
}

TEST_F(WaitTableTest, ASlotThatChangesBetweenTheLooksIsNotTold) {
  waiting::write(some_wait());
  const Look first = look();
  waiting::write(some_wait());
  EXPECT_TRUE(compare_looks(first, look())->waits.empty());
  const Look torn = with(look(), offsetof(Page, slots), std::uint32_t{5});
  EXPECT_TRUE(compare_looks(torn, torn)->waits.empty());
}

TEST_F(WaitTableTest, ForgedHeadersAreNoTable) {
  const Look good = look();
  for (const Look &forged :
       {with(good, offsetof(Page, magic), std::uint64_t{1}), with(good, offsetof(Page, format), std::uint32_t{99}),
        with(good, offsetof(Page, n_slots), std::uint32_t{1U << 31}), with(good, offsetof(Page, rank), 8),
        with(good, offsetof(Page, rank), -1), with(good, offsetof(Page, size), 0),
        with(good, offsetof(Page, pid), 0)}) {
    EXPECT_FALSE(compare_looks(forged, forged).has_value());
  }
  EXPECT_FALSE(compare_looks(good, with(good, offsetof(Page, rank), 4)).has_value());
}

TEST_F(WaitTableTest, ForgedSlotsStayWithinBounds) {
  Wait wait = some_wait();
  wait.function.fill('\x07');  // no end, and nothing to print
  wait.route = 200;
  wait.direction = static_cast<waiting::Direction>(77);
  wait.peer = -99;
  wait.world_peer = 1000;
  waiting::write(wait);
  const std::optional<WaitTable> table = compare_looks(look(), look());
  ASSERT_EQ(table->waits.size(), 1U);
  EXPECT_EQ(table->waits[0].function, std::string(32, '?'));
  EXPECT_EQ(table->waits[0].wait.route, waiting::kNoRoute);
  EXPECT_EQ(table->waits[0].wait.direction, waiting::Direction::kNone);
  EXPECT_EQ(table->waits[0].wait.peer, waiting::kNobody);
  EXPECT_EQ(table->waits[0].wait.world_peer, waiting::kNobody);
}

TEST_F(WaitTableTest, AShortFileIsNoTable) {
  const FileDescriptor file(memfd_create("short", MFD_CLOEXEC));
  ASSERT_GE(file.get(), 0);
  EXPECT_FALSE(look_at_table(file.get()).has_value());
  ASSERT_EQ(ftruncate(file.get(), sizeof(Page) - 1), 0);
  EXPECT_FALSE(look_at_table(file.get()).has_value());
}

TEST_F(WaitTableTest, AForkedChildWritesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    waiting::write(some_wait());
    _exit(waiting::descriptor() < 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(compare_looks(look(), look())->waits.empty());
}

TEST_F(WaitTableTest, OnlyDescribedWaitsAreTold) {
  waiting::Described::write_slow(5);
  EXPECT_TRUE(compare_looks(look(), look())->waits.empty());
  const waiting::Described described(&tell_nothing, nullptr);
  waiting::Described::write_slow(5);
  const std::optional<WaitTable> table = compare_looks(look(), look());
  ASSERT_EQ(table->waits.size(), 1U);
  EXPECT_EQ(table->waits[0].function, "MPI_Wait");
  EXPECT_EQ(table->waits[0].wait.begun_ns, 5);
}

}  // namespace
}  // namespace sluice::command::wait_table_test
