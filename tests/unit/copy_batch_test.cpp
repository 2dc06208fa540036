// SPDX-License-Identifier: BSD-3-Clause
#include "device/copy_batch.hpp"

#include <gtest/gtest.h>

#include "fake_device.hpp"

namespace sluice::device::copy_batch_test {
namespace {

using tests::Call;

class CopyBatches : public tests::FakeDevice {
 protected:
  std::vector<std::byte> host_ = std::vector<std::byte>(64, std::byte{0xdd});
  sluice_copy_t piece(std::size_t at) {
    return {host_.data() + at, fake.allocate(SLUICE_MEMORY_DEVICE, 1, 0, static_cast<std::byte>(at)), 1};
  }
  std::shared_ptr<CopyBatch> join(std::size_t at) {
    return CopyBatch::join(place(), piece(at), CopyBatch::Source::kPeer);
  }
};

TEST_F(CopyBatches, OfMessagesThatCameTogether_AreOneCommand_AskedAfterOnceATurn) {
  constexpr std::size_t kMessages = 5;
  std::vector<std::shared_ptr<CopyBatch>> messages;
  for (std::size_t i = 0; i < kMessages; ++i) messages.push_back(join(i));
  EXPECT_EQ(messages.front()->size(), kMessages);
  bool is_done = true;
  for (const auto &message : messages) {
    ASSERT_TRUE(message->poll(1, &is_done).is_ok());
    EXPECT_FALSE(is_done);
  }
  EXPECT_EQ(fake.calls(Call::kEnqueueCopies), 1);
  EXPECT_EQ(fake.calls(Call::kTestTicket), 1);
  for (const auto &message : messages) {
    ASSERT_TRUE(message->poll(2, &is_done).is_ok());
    EXPECT_TRUE(is_done);
  }
  EXPECT_EQ(fake.calls(Call::kTestTicket), 2);
  for (std::size_t i = 0; i < kMessages; ++i) EXPECT_EQ(host_[i], static_cast<std::byte>(i));
}

TEST_F(CopyBatches, TakeNoMore_WhenTheyHaveBegun) {
  const auto first = join(1);
  bool is_done = false;
  ASSERT_TRUE(first->poll(1, &is_done).is_ok());
  const auto second = join(2);
  EXPECT_NE(first, second);
  EXPECT_NE(second, CopyBatch::alone(place(), piece(3)));
  for (std::uint64_t turn = 2; turn < 4; ++turn) {
    ASSERT_TRUE(first->poll(turn, &is_done).is_ok());
    ASSERT_TRUE(second->poll(turn, &is_done).is_ok());
  }
  EXPECT_TRUE(is_done);
}

TEST_F(CopyBatches, KeepShortAndLongApart_AndOwnMemoryFromAPeers) {
  using Source = CopyBatch::Source;
  const std::vector<std::byte> memory(CopyBatch::kLongestBytes + 1);  // never copied: no batch is asked after
  const auto of_length = [&](std::size_t size_bytes, Source source) {
    return CopyBatch::join(place(), {host_.data(), memory.data(), size_bytes}, source);
  };
  const auto is_short = of_length(CopyBatch::kShortBytes, Source::kPeer);
  const auto is_long = of_length(CopyBatch::kShortBytes + 1, Source::kPeer);
  const auto is_own = of_length(8, Source::kSelf);
  EXPECT_NE(is_short, is_long);
  EXPECT_NE(is_short, is_own);
  EXPECT_EQ(is_short, of_length(8, Source::kPeer));
  EXPECT_EQ(is_long, of_length(CopyBatch::kLongestBytes, Source::kPeer));
  EXPECT_NE(is_long, of_length(CopyBatch::kLongestBytes + 1, Source::kPeer)) << "goes alone";
}

TEST_F(CopyBatches, TakeNoMoreThanTheyMay) {
  const std::vector<std::byte> memory(CopyBatch::kLongestBytes);
  std::vector<std::shared_ptr<CopyBatch>> batches;
  for (std::size_t bytes = 0; bytes <= CopyBatch::kMostBytes; bytes += CopyBatch::kLongestBytes) {
    batches.push_back(CopyBatch::join(place(), {host_.data(), memory.data(), memory.size()}, CopyBatch::Source::kPeer));
  }
  EXPECT_EQ(batches.front(), batches[batches.size() - 2]);
  EXPECT_NE(batches.front(), batches.back()) << "kMostBytes";
  std::vector<std::shared_ptr<CopyBatch>> shorts;
  for (std::size_t i = 0; i <= CopyBatch::kMost; ++i) shorts.push_back(join(i % host_.size()));
  EXPECT_EQ(shorts.front(), shorts[CopyBatch::kMost - 1]);
  EXPECT_NE(shorts.front(), shorts.back()) << "kMost";
}

TEST_F(CopyBatches, TellAllMessagesOfAnError) {
  const auto first = join(1);
  const auto second = join(2);
  fake.fail(Call::kTestTicket, SLUICE_ERROR_NATIVE, "torn cable");
  bool is_done = false;
  for (const auto &message : {first, second}) {
    const Status status = message->poll(1, &is_done);
    EXPECT_TRUE(is_done);
    EXPECT_NE(status.message().find("torn cable"), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace sluice::device::copy_batch_test
