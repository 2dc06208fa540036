// SPDX-License-Identifier: BSD-3-Clause
#include "device/copy_batch.hpp"

#include <gtest/gtest.h>

#include "fake_device.hpp"

namespace sluice::device {
namespace {

using tests::Call;

class CopyBatches : public tests::FakeDevice {
 protected:
  std::vector<std::byte> host_ = std::vector<std::byte>(64, std::byte{0xdd});
  sluice_copy_t piece(std::size_t at) {
    return {host_.data() + at, fake.allocate(SLUICE_MEMORY_DEVICE, 1, 0, static_cast<std::byte>(at)), 1};
  }
};

TEST_F(CopyBatches, OfMessagesThatCameTogether_AreOneCommand_AskedAfterOnceATurn) {
  constexpr std::size_t kMessages = 5;
  std::vector<std::shared_ptr<CopyBatch>> messages;
  for (std::size_t i = 0; i < kMessages; ++i) messages.push_back(CopyBatch::join(place(), piece(i)));
  EXPECT_EQ(messages.front()->size(), kMessages);
  EXPECT_EQ(messages.front()->size_bytes(), kMessages);
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
  const auto first = CopyBatch::join(place(), piece(1));
  bool is_done = false;
  ASSERT_TRUE(first->poll(1, &is_done).is_ok());
  const auto second = CopyBatch::join(place(), piece(2));
  EXPECT_NE(first, second);
  EXPECT_NE(second, CopyBatch::alone(place(), piece(3)));
  for (std::uint64_t turn = 2; turn < 4; ++turn) {
    ASSERT_TRUE(first->poll(turn, &is_done).is_ok());
    ASSERT_TRUE(second->poll(turn, &is_done).is_ok());
  }
  EXPECT_TRUE(is_done);
}

TEST_F(CopyBatches, TellAllMessagesOfAnError) {
  const auto first = CopyBatch::join(place(), piece(1));
  const auto second = CopyBatch::join(place(), piece(2));
  fake.fail(Call::kTestTicket, SLUICE_ERROR_NATIVE, "torn cable");
  bool is_done = false;
  for (const auto &message : {first, second}) {
    const Status status = message->poll(1, &is_done);
    EXPECT_TRUE(is_done);
    EXPECT_NE(status.message().find("torn cable"), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace sluice::device
