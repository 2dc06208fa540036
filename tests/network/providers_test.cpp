// SPDX-License-Identifier: BSD-3-Clause
// What every provider promises: bytes as they were sent whatever the order, an end for every message, nothing written
// beside it, and no belief in addresses.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/network/two_processes.hpp"

namespace sluice::tests::network_test {
namespace {

using network::Transfer;
using Transfers = std::vector<std::unique_ptr<Transfer>>;

constexpr int kThis = 3;  // the rank of the pattern

class Providers : public testing::Test {
 protected:
  void SetUp() override {
    bool is_broken = false;
    ASSERT_EQ(site_.open(&is_broken), "");
    peer_ = std::make_unique<Peer>(site_);
  }

  // `n` messages there and back, all at once.
  void exchange(std::uint64_t n, std::size_t size_bytes, std::uint64_t tag) const {
    std::vector<Memory> out;
    std::vector<Memory> in;
    Transfers receives(n);
    Transfers sends(n);
    peer_->ask({tag, size_bytes, n});
    for (std::uint64_t i = 0; i < n; ++i) {
      out.push_back(site_.allocate(size_bytes));
      out.back().fill_pattern(kThis, static_cast<int>(i));
      in.push_back(site_.allocate(size_bytes));
      in.back().fill(kPoison);
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      ASSERT_TRUE(site_.provider().receive(Site::of(in[i], size_bytes), tag + i + kBack, &receives[i]).is_ok());
      const Status status = send(site_, Site::of(out[i], size_bytes), peer_->address(), tag + i, &sends[i]);
      ASSERT_TRUE(status.is_ok()) << status.message();
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      const Status sent = finish(sends[i].get());
      ASSERT_TRUE(sent.is_ok()) << sent.message();
      const Status came = finish(receives[i].get());
      ASSERT_TRUE(came.is_ok()) << came.message();
      expect_pattern_and_guards(in[i], size_bytes, static_cast<int>(i));
    }
    peer_->end_together(receives[0].get());
  }

  static void expect_pattern_and_guards(const Memory &memory, std::size_t size_bytes, int iteration) {
    EXPECT_EQ(find_pattern_error(memory.read(), kThis, iteration), "");
    const Bytes all = memory.read_with_guards();
    for (std::size_t i = 0; i < kGuardBytes; ++i) {
      ASSERT_EQ(all[i], kPoison) << "before the message";
      ASSERT_EQ(all[kGuardBytes + size_bytes + i], kPoison) << "behind the message";
    }
  }

  Site site_;
  std::unique_ptr<Peer> peer_;
};

TEST_F(Providers, CarryEveryLength_ThereAndBack) {
  std::uint64_t tag = 1;
  for (const std::size_t size_bytes : {1UL, 7UL, 8192UL, 65'535UL, 65'536UL, 1'048'589UL, 33'554'437UL}) {
    SCOPED_TRACE(size_bytes);
    exchange(1, size_bytes, tag++);
  }
}

TEST_F(Providers, CarryManyAtOnce_ReceivedInAnotherOrder) {
  exchange(48, 70'001, 1);
  exchange(48, 300, 100);
}

TEST_F(Providers, EndAReceiveThatIsCancelled_AndWriteNothing) {
  const Memory memory = site_.allocate(4096);
  memory.fill(kPoison);
  std::unique_ptr<Transfer> transfer;
  ASSERT_TRUE(site_.provider().receive(Site::of(memory, 4096), 5, &transfer).is_ok());
  Status outcome;
  EXPECT_FALSE(transfer->poll(&outcome));
  transfer->cancel();
  EXPECT_FALSE(finish(transfer.get()).is_ok());
  EXPECT_EQ(find_difference(Bytes(4096, kPoison), memory.read()), "");
  exchange(1, 4096, 6);
}

// Whoever sends more than was asked for is not believed.
TEST_F(Providers, EndAReceiveThatIsTooShort_AndWriteNothingBeside) {
  constexpr std::size_t kSent = 100'000;
  constexpr std::size_t kRoom = 70'000;
  const Memory out = site_.allocate(kSent);
  const Memory in = site_.allocate(kRoom);
  out.fill_pattern(kThis, 0);
  in.fill(kPoison);
  std::unique_ptr<Transfer> receive;
  std::unique_ptr<Transfer> sending;
  ASSERT_TRUE(site_.provider().receive(Site::of(in, kRoom), 9, &receive).is_ok());
  ASSERT_TRUE(send(site_, Site::of(out, kSent), site_.provider().address(), 9, &sending).is_ok());
  EXPECT_FALSE(finish(receive.get()).is_ok());
  static_cast<void>(finish(sending.get()));
  const Bytes all = in.read_with_guards();
  for (std::size_t i = 0; i < kGuardBytes; ++i) {
    ASSERT_EQ(all[kGuardBytes + kRoom + i], kPoison) << "behind the message";
  }
}

TEST_F(Providers, RefuseAddressesThatAreNone) {
  const Memory memory = site_.allocate(4096);
  const std::string own = site_.provider().address();
  std::vector<std::string> addresses = {"", "x", std::string(network::kMostAddressBytes, 'x'),
                                        own.substr(0, own.size() / 2)};
  for (const std::size_t at : {std::size_t{0}, own.size() / 2, own.size() - 1}) {
    addresses.push_back(own);
    addresses.back()[at] ^= 0x55;
  }
  for (const std::string &address : addresses) {
    std::unique_ptr<Transfer> transfer;
    Status status = send(site_, Site::of(memory, 4096), address, 11, &transfer);
    if (status.is_ok()) status = finish(transfer.get());
    EXPECT_FALSE(status.is_ok()) << address.size() << " bytes";
  }
  exchange(1, 4096, 12);
}

TEST_F(Providers, LetGoOfASendThatNobodyReceives) {
  const Memory memory = site_.allocate(200'000);
  std::unique_ptr<Transfer> transfer;
  ASSERT_TRUE(send(site_, Site::of(memory, 200'000), peer_->address(), 13, &transfer).is_ok());
  Status outcome;
  for (int look = 0; look < 1000; ++look) static_cast<void>(transfer->poll(&outcome));
  transfer.reset();
  exchange(2, 100'000, 14);
}

// What was asked for of a process that is gone: an error, or an end that the acknowledgement of MPI would miss.
TEST_F(Providers, EndASendToAProcessThatIsGone) {
  const Memory memory = site_.allocate(200'000);
  peer_->kill();
  std::unique_ptr<Transfer> transfer;
  Status status = send(site_, Site::of(memory, 200'000), peer_->address(), 15, &transfer);
  if (status.is_ok()) status = finish(transfer.get());
  EXPECT_FALSE(status.is_ok());
}

// With its process the job is gone, too; but this process is not the first to say so, and serves others on.
TEST_F(Providers, SurviveThatTheOtherProcessDiesMidway) {
  constexpr std::size_t kLong = 64U << 20U;
  const Memory memory = site_.allocate(kLong);
  std::unique_ptr<Transfer> transfer;
  peer_->ask({16, kLong, 1});
  ASSERT_TRUE(send(site_, Site::of(memory, kLong), peer_->address(), 16, &transfer).is_ok());
  Status outcome;
  bool has_ended = false;
  for (int look = 0; look < 20; ++look) has_ended = transfer->poll(&outcome);
  peer_->kill();
  for (int look = 0; look < 10'000 && !has_ended; ++look) has_ended = transfer->poll(&outcome);
  transfer.reset();
  peer_ = std::make_unique<Peer>(site_);
  exchange(3, 100'000, 20);
}

}  // namespace
}  // namespace sluice::tests::network_test
