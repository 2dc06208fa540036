// SPDX-License-Identifier: BSD-3-Clause
// Copies: every byte arrives, queues are used again and given up after a failure, failures carry the native text.
#include "device/copy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "device/queue.hpp"
#include "fake_device.hpp"

namespace sluice::device::copy_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using tests::Call;
using tests::pattern;

class Copy : public tests::FakeDevice {
 protected:
  // Copies `size` patterned bytes to device memory and back; true when every byte came back.
  bool goes_there_and_back(std::size_t size, std::size_t round) {
    std::byte *device = fake.allocate(SLUICE_MEMORY_DEVICE, size + 1, 0, std::byte{0xee});
    std::vector<std::byte> from(size);
    for (std::size_t i = 0; i < size; ++i) from[i] = pattern(i, round);
    std::vector<std::byte> to(size, std::byte{0xdd});
    EXPECT_TRUE(copy(place(), device, from.data(), size).is_ok());
    EXPECT_EQ(*(fake.alias(device) + size), std::byte{0xee}) << "wrote past the end";
    EXPECT_TRUE(copy(place(), to.data(), device, size).is_ok());
    return from == to;
  }

  // Two pieces of eight bytes from device memory to `to`.
  Status copy_two(std::byte *to) {
    const std::byte *device = fake.allocate(SLUICE_MEMORY_DEVICE, 16);
    const std::array<sluice_copy_t, 2> pieces = {{{to, device, 8}, {to + 8, device + 8, 8}}};
    return copy(place(), pieces);
  }
};

TEST_F(Copy, BringsEveryByte) {
  std::size_t round = 0;
  for (const std::size_t size : {1UL, 7UL, 64UL, 4095UL, 4097UL, 1UL << 20}) {
    EXPECT_TRUE(goes_there_and_back(size, ++round)) << size;
  }
}

// The test above must be able to fail.
TEST_F(Copy, IsSeenToBeWrong_WhenTheBackendDropsAByte) {
  fake.drop_last_byte();
  EXPECT_FALSE(goes_there_and_back(100, 1));
}

TEST_F(Copy, DoesNothing_ForNoBytes) {
  EXPECT_TRUE(copy(place(), nullptr, nullptr, 0).is_ok());
  EXPECT_TRUE(copy(place(), std::span<const sluice_copy_t>()).is_ok());
  EXPECT_EQ(fake.calls(Call::kQueueCreate), 0);
}

TEST_F(Copy, BringsManyPieces_WithOneWait) {
  constexpr std::size_t kPieces = 37;
  const std::byte *device = fake.allocate(SLUICE_MEMORY_DEVICE, 4096);
  for (std::size_t i = 0; i < 4096; ++i) fake.alias(device)[i] = pattern(i, 3);
  std::vector<std::byte> host(4096, std::byte{0xdd});
  std::vector<sluice_copy_t> pieces;
  for (std::size_t i = 0; i < kPieces; ++i) pieces.push_back({host.data() + i * 100, device + i * 100, 1 + i});
  ASSERT_TRUE(copy(place(), pieces).is_ok());
  for (std::size_t i = 0; i < host.size(); ++i) {
    const bool is_copied = i / 100 < kPieces && i % 100 < 1 + i / 100;
    EXPECT_EQ(host[i], is_copied ? pattern(i, 3) : std::byte{0xdd}) << i;
  }
  EXPECT_EQ(fake.calls(Call::kEnqueueCopies), 1);
  EXPECT_EQ(fake.calls(Call::kWaitTicket), 1);
}

TEST_F(Copy, OfOnePiece_IsAPlainCopy) {
  const std::byte *device = fake.allocate(SLUICE_MEMORY_DEVICE, 8, 0, std::byte{7});
  std::byte host{0};
  const sluice_copy_t piece{&host, device, 1};
  EXPECT_TRUE(copy(place(), std::span(&piece, 1)).is_ok());
  EXPECT_EQ(host, std::byte{7});
  EXPECT_EQ(fake.calls(Call::kCopy), 1);
  EXPECT_EQ(fake.calls(Call::kEnqueueCopies), 0);
}

// A wait in the backend may take longer than the copy: as long as those of other queues.
TEST_F(Copy, UnderWay_IsWaitedForInTheBackend_OnlyUntilItHasEnded) {
  const std::byte *device = fake.allocate(SLUICE_MEMORY_DEVICE, 8);
  std::array<std::byte, 8> to{};
  const std::array<sluice_copy_t, 1> pieces = {{{to.data(), device, to.size()}}};
  Queue queue;
  ASSERT_TRUE(queue.acquire(place()).is_ok());
  PendingCopy pending;
  ASSERT_TRUE(pending.begin(&queue, pieces).is_ok());
  bool is_done = true;
  ASSERT_TRUE(pending.poll(&is_done).is_ok());
  ASSERT_FALSE(is_done);
  EXPECT_TRUE(pending.wait("copy").is_ok());  // the fake's copy has ended when it is asked after again
  EXPECT_FALSE(pending.is_running());
  EXPECT_EQ(fake.calls(Call::kWaitTicket), 0);

  ASSERT_TRUE(pending.begin(&queue, pieces).is_ok());
  EXPECT_TRUE(pending.wait("copy").is_ok());
  EXPECT_EQ(fake.calls(Call::kWaitTicket), 1);
}

TEST_F(Copy, UnderWay_FailsInTheWait_WithTheNativeText_AndGivesUpTheQueue) {
  const std::byte *device = fake.allocate(SLUICE_MEMORY_DEVICE, 8);
  std::array<std::byte, 8> to{};
  const std::array<sluice_copy_t, 1> pieces = {{{to.data(), device, to.size()}}};
  Queue queue;
  ASSERT_TRUE(queue.acquire(place()).is_ok());
  PendingCopy pending;
  ASSERT_TRUE(pending.begin(&queue, pieces).is_ok());
  fake.fail(Call::kWaitTicket, SLUICE_ERROR_NATIVE, "FAKE_LOST");
  const Status status = pending.wait("move a block");
  EXPECT_THAT(status.message(), AllOf(HasSubstr("move a block"), HasSubstr("FAKE_LOST")));
  EXPECT_FALSE(pending.is_running());
  EXPECT_TRUE(queue.is_empty());
  EXPECT_TRUE(pending.wait("move a block").is_ok());  // nothing is under way
}

TEST_F(Copy, UsesAQueueAgain) {
  for (std::size_t i = 0; i < 50; ++i) EXPECT_TRUE(goes_there_and_back(100, i));
  EXPECT_EQ(fake.calls(Call::kQueueCreate), 1);
  EXPECT_EQ(fake.live_queues(), 1);
  release_queues();
  EXPECT_EQ(fake.live_queues(), 0);
  EXPECT_TRUE(goes_there_and_back(100, 51));
  EXPECT_EQ(fake.calls(Call::kQueueCreate), 2);
}

TEST_F(Copy, KeepsAQueueForEachDevice) {
  std::byte host{0};
  const std::byte *device = fake.allocate(SLUICE_MEMORY_DEVICE, 8);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(copy(place(0), &host, device, 1).is_ok());
    EXPECT_TRUE(copy(place(1), &host, device, 1).is_ok());
  }
  EXPECT_EQ(fake.calls(Call::kQueueCreate), 2);
  // Memory of no device (shared, say) is copied on a queue of the first.
  EXPECT_TRUE(copy(place(-1), &host, device, 1).is_ok());
  EXPECT_EQ(fake.calls(Call::kQueueCreate), 2);
}

TEST_F(Copy, Fails_WithTheNativeText_AndGivesUpTheQueue) {
  EXPECT_TRUE(goes_there_and_back(8, 1));
  const std::byte *device = fake.allocate(SLUICE_MEMORY_DEVICE, 4096);
  std::vector<std::byte> host(4096);
  fake.fail(Call::kCopy, SLUICE_ERROR_NATIVE, "FAKE_ECC 5: uncorrectable");
  const Status status = copy(place(), host.data(), device, 4096);
  EXPECT_EQ(status.kind(), ErrorKind::kBackend);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("fake0 could not copy 4096 bytes: FAKE_ECC 5: uncorrectable; ")));
  EXPECT_EQ(fake.live_queues(), 0) << "the queue's state is unknown";
  EXPECT_TRUE(goes_there_and_back(8, 2));
  EXPECT_EQ(fake.calls(Call::kQueueCreate), 2);
}

TEST_F(Copy, OfPieces_Fails_WhereverItFails) {
  std::array<std::byte, 16> host{};
  int n_queues = 0;
  for (const Call call : {Call::kEnqueueCopies, Call::kEnqueueTicket, Call::kWaitTicket}) {
    const std::string native = "FAKE_AT " + std::to_string(static_cast<int>(call));
    fake.fail(call, SLUICE_ERROR_NATIVE, native);
    const Status status = copy_two(host.data());
    EXPECT_THAT(status.message(), AllOf(HasSubstr("copy 2 pieces"), HasSubstr(native)));
    EXPECT_EQ(fake.live_queues(), 0) << native;
    EXPECT_EQ(fake.calls(Call::kQueueCreate), ++n_queues);
  }
  EXPECT_TRUE(copy_two(host.data()).is_ok());
}

TEST_F(Copy, Fails_WhenNoQueueCanBeMade) {
  std::array<std::byte, 16> host{};
  const std::byte *device = fake.allocate(SLUICE_MEMORY_DEVICE, 16);
  fake.fail(Call::kQueueCreate, SLUICE_ERROR_OUT_OF_MEMORY, "FAKE_NO_QUEUES", 2);
  const Status one = copy(place(), host.data(), device, 16);
  EXPECT_EQ(one.kind(), ErrorKind::kOutOfMemory);
  EXPECT_THAT(one.message(), AllOf(HasSubstr("create a queue"), HasSubstr("FAKE_NO_QUEUES")));
  EXPECT_THAT(copy_two(host.data()).message(), HasSubstr("FAKE_NO_QUEUES"));
  EXPECT_EQ(fake.calls(Call::kCopy), 0);
  EXPECT_TRUE(copy(place(), host.data(), device, 16).is_ok());
}

TEST_F(Copy, SaysBadBuffer_WhenTheRuntimeRefusesTheAddress) {
  std::byte host{0};
  fake.fail(Call::kCopy, SLUICE_ERROR_INVALID_ARGUMENT, "FAKE_BAD_ADDRESS");
  const Status status = copy(place(), &host, fake.allocate(SLUICE_MEMORY_DEVICE, 8), 1);
  EXPECT_EQ(status.kind(), ErrorKind::kBadBuffer);
  EXPECT_THAT(status.message(), HasSubstr("FAKE_BAD_ADDRESS"));
}

TEST_F(Copy, KeepsTheCopysOwnError_WhenTheQueueCannotBeDestroyedEither) {
  std::byte host{0};
  fake.fail(Call::kCopy, SLUICE_ERROR_NATIVE, "FAKE_COPY");
  fake.fail(Call::kQueueDestroy, SLUICE_ERROR_NATIVE, "FAKE_DESTROY");
  ::testing::internal::CaptureStderr();
  const Status status = copy(place(), &host, fake.allocate(SLUICE_MEMORY_DEVICE, 8), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("FAKE_DESTROY"));
  EXPECT_THAT(status.message(), AllOf(HasSubstr("FAKE_COPY"), ::testing::Not(HasSubstr("FAKE_DESTROY"))));
}

// The fake notes it when two threads use one queue; the fixture looks.
TEST_F(Copy, GivesEachThreadAQueueOfItsOwn) {
  constexpr int kThreads = 8;
  std::vector<std::byte *> device;
  for (int t = 0; t < kThreads; ++t) device.push_back(fake.allocate(SLUICE_MEMORY_DEVICE, 512));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::array<std::byte, 512> from{};
      std::array<std::byte, 512> to{};
      for (std::size_t round = 0; round < 300; ++round) {
        for (std::size_t i = 0; i < from.size(); ++i) from.at(i) = pattern(i + static_cast<std::size_t>(t), round);
        std::byte *mine = device.at(static_cast<std::size_t>(t));
        const std::array<sluice_copy_t, 2> pieces = {{{to.data(), mine, 256}, {to.data() + 256, mine + 256, 256}}};
        if (!copy(place(), mine, from.data(), 512).is_ok() || !copy(place(), pieces).is_ok() || from != to) ++wrong;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(fake.calls(Call::kQueueCreate), kThreads);
  EXPECT_EQ(fake.misuse(), "");
}

}  // namespace
}  // namespace sluice::device::copy_test
