// SPDX-License-Identifier: BSD-3-Clause
// The ways of small copies and what happens where each of them ends, on the loop-back driver.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "loaded_module.h"
#include "loopback.h"
#include "sluice/backend.h"

namespace {

constexpr size_t kBytes = 65536;
constexpr char kUntouched = 0x55;

char pattern(size_t round, size_t at) {
  return static_cast<char>(at * 31 + (at >> 8) * 7 + round * 113 + 1);
}

class SmallCopies : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_NO_FATAL_FAILURE(load_module(kNoServices, &table));
    ASSERT_EQ(table->program_set_device(0), SLUICE_SUCCESS);
  }

  void SetUp() override {
    ASSERT_EQ(table->program_alloc(SLUICE_MEMORY_DEVICE, kBytes, &device_memory_), SLUICE_SUCCESS);
    ASSERT_EQ(table->queue_create(0, &queue_), SLUICE_SUCCESS) << table->last_error();
  }

  void TearDown() override {
    EXPECT_EQ(table->queue_destroy(queue_), SLUICE_SUCCESS) << table->last_error();
    EXPECT_EQ(table->program_free(device_memory_), SLUICE_SUCCESS);
  }

  // The loop-back driver's device memory is host memory.
  char *device() const { return static_cast<char *>(device_memory_); }

  // Copies down and looks at every byte, those around the copy too.
  void expect_down(size_t offset, size_t size_bytes) {
    std::vector<char> to(size_bytes + 2, kUntouched);
    ASSERT_EQ(table->copy(queue_, to.data() + 1, device() + offset, size_bytes), SLUICE_SUCCESS) << table->last_error();
    ASSERT_EQ(std::memcmp(to.data() + 1, device() + offset, size_bytes), 0) << size_bytes << " from " << offset;
    ASSERT_EQ(to.front(), kUntouched);
    ASSERT_EQ(to.back(), kUntouched);
  }

  void expect_up(size_t round, size_t offset, size_t size_bytes) {
    std::vector<char> from(size_bytes);
    for (size_t i = 0; i < size_bytes; ++i) from[i] = pattern(round, i);
    std::memset(device(), kUntouched, kBytes);
    ASSERT_EQ(table->copy(queue_, device() + offset, from.data(), size_bytes), SLUICE_SUCCESS) << table->last_error();
    ASSERT_EQ(std::memcmp(device() + offset, from.data(), size_bytes), 0) << size_bytes << " to " << offset;
    for (size_t i = 0; i < kBytes; ++i) {
      if (i < offset || i >= offset + size_bytes) {
        ASSERT_EQ(device()[i], kUntouched) << i;
      }
    }
  }

  void fill_device(size_t round) {
    for (size_t i = 0; i < kBytes; ++i) device()[i] = pattern(round, i);
  }

  // The word that lay where the next copy down begins.
  uint32_t blank() {
    expect_down(0, 4);
    return loopback::state().overwritten;
  }

  inline static const sluice_backend_t *table = nullptr;
  void *device_memory_ = nullptr;
  sluice_queue_t *queue_ = nullptr;
};

TEST_F(SmallCopies, SizesAndOffsets_AreExactBothWays) {
  size_t round = 0;
  for (const size_t size : {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 63, 64, 65, 255, 4095, 8192, 8193, 32768, 32769}) {
    for (const size_t offset : {0, 1, 3, 4, 8, 60, 255, 257}) {
      fill_device(++round);
      expect_down(offset, size);
      expect_up(round, offset, size);
    }
  }
}

// How soon data comes is up to the machine; sooner or later it comes before the copy loses patience.
TEST_F(SmallCopies, DataInTime_NeedsNoTicket) {
  fill_device(1);
  for (const bool is_up : {false, true}) {
    int before = -1;
    while (before != loopback::state().n_word_writes) {
      before = loopback::state().n_word_writes;
      is_up ? expect_up(1, 0, 64) : expect_down(0, 64);
    }
  }
}

TEST_F(SmallCopies, DataThatHoldsTheBlank_Arrives) {
  for (const size_t size : {4, 64, 8192}) {
    const uint32_t first = blank();
    for (size_t at = 0; at + 4 <= kBytes; at += 4) std::memcpy(device() + at, &first, 4);
    const int before = loopback::state().n_word_writes;
    expect_down(0, size);
    EXPECT_EQ(loopback::state().n_word_writes, before + 1) << "the end is seen by a ticket";
    expect_down(0, size);
    EXPECT_NE(loopback::state().overwritten, first) << "another blank, so no ticket for the same data";
  }
}

TEST_F(SmallCopies, UpDataThatHoldsTheBlank_Arrives) {
  const uint32_t first = blank();
  std::vector<char> from(100);
  for (size_t at = 0; at + 4 <= from.size(); at += 4) std::memcpy(from.data() + at, &first, 4);
  ASSERT_EQ(table->copy(queue_, device(), from.data(), from.size()), SLUICE_SUCCESS);
  EXPECT_EQ(std::memcmp(device(), from.data(), from.size()), 0);
}

TEST_F(SmallCopies, LateData_IsWaitedForByATicket) {
  fill_device(3);
  for (const bool is_up : {false, true}) {
    loopback_hold(true);
    const int before = loopback::state().n_word_writes;
    std::vector<char> host(1000, 'x');
    sluice_result_t result = SLUICE_ERROR_NATIVE;
    std::thread copier([&] {
      ASSERT_EQ(table->program_set_device(0), SLUICE_SUCCESS);
      result = is_up ? table->copy(queue_, device(), host.data(), host.size())
                     : table->copy(queue_, host.data(), device(), host.size());
    });
    while (loopback::state().n_word_writes == before) std::this_thread::yield();
    loopback_hold(false);
    copier.join();
    EXPECT_EQ(result, SLUICE_SUCCESS);
    EXPECT_EQ(std::memcmp(host.data(), device(), host.size()), 0);
  }
}

TEST_F(SmallCopies, OneOrTwoWords_AreOneCommand) {
  int before = loopback::state().n_batches;
  for (const size_t size : {4, 8, 12, 16}) expect_up(size, 8, size);
  expect_up(1, 4, 12);
  EXPECT_EQ(loopback::state().n_batches, before + 5);
  before = loopback::state().n_batches;
  expect_up(1, 4, 16);  // three words
  expect_up(1, 2, 8);   // at no word
  expect_up(1, 8, 6);   // not of words
  expect_up(1, 8, 24);
  EXPECT_EQ(loopback::state().n_batches, before);
}

TEST_F(SmallCopies, RefusedWords_AreCopied) {
  loopback::state().refuses_batches = true;
  for (const size_t size : {4, 8, 4, 16, 4096}) expect_up(size, 8, size);
  loopback::state().refuses_batches = false;
}

TEST_F(SmallCopies, BeyondTheAllocation_IsTheDriversError) {
  std::vector<char> host(4096);
  EXPECT_EQ(table->copy(queue_, host.data(), device() + kBytes - 8, 16), SLUICE_ERROR_INVALID_ARGUMENT);
  sluice_queue_t *other = nullptr;
  ASSERT_EQ(table->queue_create(0, &other), SLUICE_SUCCESS);
  EXPECT_EQ(table->copy(other, device() + kBytes - 8, host.data(), 16), SLUICE_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(table->queue_destroy(other), SLUICE_SUCCESS);
}

TEST_F(SmallCopies, QueueWithUnfinishedWork_KeepsItsOrder) {
  fill_device(5);
  const std::vector<char> first(4096, 'a');
  const std::vector<char> second(4096, 'b');
  const sluice_copy_t one = {device(), first.data(), first.size()};
  ASSERT_EQ(table->enqueue_copies(queue_, &one, 1), SLUICE_SUCCESS);
  ASSERT_EQ(table->copy(queue_, device(), second.data(), second.size()), SLUICE_SUCCESS);
  EXPECT_EQ(std::memcmp(device(), second.data(), second.size()), 0);
}

TEST_F(SmallCopies, ZDeadStream_IsAnErrorAndNoHang) {
  loopback_break();
  std::vector<char> host(4096);
  EXPECT_EQ(table->copy(queue_, host.data(), device(), 100), SLUICE_ERROR_NATIVE);
  EXPECT_NE(std::strstr(table->last_error(), "illegal memory access"), nullptr) << table->last_error();
  EXPECT_EQ(table->copy(queue_, device(), host.data(), 100), SLUICE_ERROR_NATIVE);
}

}  // namespace
