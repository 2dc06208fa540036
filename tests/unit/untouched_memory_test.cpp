// SPDX-License-Identifier: BSD-3-Clause
// Address space for receives: only what is written takes memory, ranges are used again, and hold none meanwhile.
#include "device/untouched_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <vector>

namespace sluice::device::untouched_memory_test {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20;

std::size_t resident_bytes(const UntouchedMemory &memory) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(kBytes / page_bytes);
  EXPECT_EQ(mincore(memory.data(), kBytes, pages.data()), 0);
  std::size_t resident = 0;
  for (const unsigned char page : pages) resident += (page & 1) != 0 ? page_bytes : 0;
  return resident;
}

UntouchedMemory acquired() {
  UntouchedMemory memory;
  const Status status = UntouchedMemory::acquire(kBytes, &memory);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return memory;
}

TEST(UntouchedMemory, TakesWhatIsWritten) {
  const UntouchedMemory memory = acquired();
  EXPECT_EQ(resident_bytes(memory), 0U);
  std::memset(memory.data(), 1, 500);
  EXPECT_LE(resident_bytes(memory), 8192U);
}

TEST(UntouchedMemory, IsUsedAgain_AndHoldsNoMoreThanAPage) {
  const std::byte *first = nullptr;
  {
    UntouchedMemory memory = acquired();
    first = memory.data();
    std::memset(memory.data(), 1, kBytes / 2);  // and nobody says so
  }
  {
    UntouchedMemory memory = acquired();
    EXPECT_EQ(memory.data(), first);
    EXPECT_EQ(resident_bytes(memory), 0U);
    std::memset(memory.data(), 1, 100);
    memory.note_written(100);
  }
  {
    UntouchedMemory memory = acquired();
    EXPECT_LE(resident_bytes(memory), 8192U);
    memory.note_written(100);
    memory.note_written(kBytes / 4);
    memory.note_written(100);
    std::memset(memory.data(), 1, kBytes / 4);
  }
  EXPECT_EQ(resident_bytes(acquired()), 0U) << "what was said first does not count";
}

TEST(UntouchedMemory, IsNobodyElses) {
  std::set<const std::byte *> seen;
  std::vector<UntouchedMemory> held;
  for (int i = 0; i < 200; ++i) {  // more than are kept
    held.push_back(acquired());
    EXPECT_TRUE(seen.insert(held.back().data()).second);
  }
  held.clear();
  UntouchedMemory small;
  ASSERT_TRUE(UntouchedMemory::acquire(1, &small).is_ok());
  small.data()[0] = std::byte{1};
  const std::byte *const data = small.data();
  const UntouchedMemory moved = std::move(small);
  EXPECT_EQ(moved.data(), data);
  EXPECT_TRUE(small.is_empty());  // NOLINT(bugprone-use-after-move): the moved-from state is what is tested
}

TEST(UntouchedMemory, IsRefused_WhereThereIsNoAddressForIt) {
  UntouchedMemory memory;
  EXPECT_EQ(UntouchedMemory::acquire(std::size_t{1} << 47, &memory).kind(), ErrorKind::kOutOfMemory);
  EXPECT_EQ(UntouchedMemory::acquire(std::size_t{1} << 60, &memory).kind(), ErrorKind::kOutOfMemory);
  EXPECT_TRUE(memory.is_empty());
}

}  // namespace
}  // namespace sluice::device::untouched_memory_test
