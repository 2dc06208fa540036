// SPDX-License-Identifier: BSD-3-Clause
// The beginning of a buffer in which a receive waits for a descriptor: other receives into the same buffer leave it
// out.
#include "ops/p2p/descriptor_landings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "transfer/descriptor.hpp"

namespace sluice::ops::descriptor_landings_test {
namespace {

using transfer::kDescriptorBytes;
constexpr std::size_t kPayload = 1000;
constexpr std::byte kUntouched{0xa5};

transfer::Region bytes_at(std::byte *origin) {
  auto layout = std::make_shared<transfer::Layout>();
  layout->size_bytes = 1;
  layout->extent_bytes = 1;
  return {origin, kPayload, std::move(layout), {}};
}

// Five bytes, three that belong to nobody, and so on; the second half of each element comes first.
transfer::Region gaps_at(std::byte *origin) {
  auto layout = std::make_shared<transfer::Layout>();
  layout->is_contiguous = false;
  layout->size_bytes = 10;
  layout->extent_bytes = 16;
  layout->blocks = {{8, 5}, {0, 5}};
  return {origin, kPayload / 10, std::move(layout), {}};
}

// By the byte of the buffer: its place in the payload, or -1.
std::vector<int> places_of(const transfer::Region &region, const std::byte *buffer, std::size_t size) {
  std::vector<int> places(size, -1);
  for_each_run(region, kPayload, [&](const std::byte *memory, std::uint64_t position, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i) {
      places[static_cast<std::size_t>(memory - buffer) + i] = static_cast<int>(position + i);
    }
    return true;
  });
  return places;
}

std::byte payload_byte(int place) {
  return static_cast<std::byte>(place % 101);
}

std::vector<std::byte> payload() {
  std::vector<std::byte> bytes(kPayload);
  for (std::size_t i = 0; i < kPayload; ++i) bytes[i] = payload_byte(static_cast<int>(i));
  return bytes;
}

class Landings : public ::testing::Test {
 protected:
  // `other` is filled while a claim of `held` is open or not: every byte of the buffer is what it has to be.
  void expect_scattered(const transfer::Region &held, const transfer::Region &other, bool is_open) {
    std::ranges::fill(buffer_, kUntouched);
    LandingClaim claim = DescriptorLandings::process().claim(held);
    ASSERT_FALSE(claim.is_empty());
    EXPECT_TRUE(DescriptorLandings::process().claim(other).is_empty()) << "two in one place";
    claim.set_open(is_open);
    DescriptorLandings::process().scatter_around(other, payload().data(), kPayload);
    const std::vector<int> head = places_of(held, buffer_.data(), buffer_.size());
    const std::vector<int> written = places_of(other, buffer_.data(), buffer_.size());
    for (std::size_t i = 0; i < buffer_.size(); ++i) {
      const bool is_kept = is_open && head[i] >= 0 && head[i] < static_cast<int>(kDescriptorBytes);
      ASSERT_EQ(buffer_[i], written[i] < 0 || is_kept ? kUntouched : payload_byte(written[i])) << "byte " << i;
    }
  }

  std::array<std::byte, 2048> buffer_{};
};

TEST_F(Landings, AreLeftOut_WhileTheirReceiveWaits) {
  for (const bool is_open : {true, false}) {
    SCOPED_TRACE(is_open);
    expect_scattered(bytes_at(buffer_.data()), bytes_at(buffer_.data()), is_open);
    expect_scattered(bytes_at(buffer_.data() + 40), bytes_at(buffer_.data()), is_open);
    expect_scattered(bytes_at(buffer_.data()), bytes_at(buffer_.data() + 40), is_open);
    expect_scattered(gaps_at(buffer_.data()), bytes_at(buffer_.data()), is_open);
    expect_scattered(bytes_at(buffer_.data() + 3), gaps_at(buffer_.data()), is_open);
    expect_scattered(gaps_at(buffer_.data() + 16), gaps_at(buffer_.data() + 20), is_open);
  }
}

TEST_F(Landings, MayBeClaimedAgain_OnceReleased) {
  LandingClaim first = DescriptorLandings::process().claim(bytes_at(buffer_.data()));
  EXPECT_FALSE(DescriptorLandings::process().claim(bytes_at(buffer_.data() + kDescriptorBytes)).is_empty());
  first.release();
  EXPECT_FALSE(DescriptorLandings::process().claim(bytes_at(buffer_.data() + 1)).is_empty());
}

// The host MPI writes there, in whatever thread, while another receive's payload is brought in.
TEST_F(Landings, KeepWhatIsWrittenThere_MeanwhileByAnotherThread) {
  constexpr int kRounds = 3000;
  const transfer::Region region = bytes_at(buffer_.data());
  const LandingClaim claim = DescriptorLandings::process().claim(region);
  std::atomic<int> n_scattered{0};
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    for (int round = 0; round < kRounds; ++round) {
      const int before = n_scattered.load();
      // Byte by byte, so that the other thread comes in between.
      for (std::size_t i = 0; i < kDescriptorBytes; ++i) {
        static_cast<volatile std::byte *>(buffer_.data())[i] = payload_byte(round);
      }
      while (n_scattered.load() < before + 2) std::this_thread::yield();
      const auto lost = std::ranges::count_if(buffer_.begin(), buffer_.begin() + kDescriptorBytes,
                                              [&](std::byte byte) { return byte != payload_byte(round); });
      EXPECT_EQ(lost, 0) << "of round " << round;
      if (lost != 0) break;
    }
    is_over.store(true);
  });
  const std::vector<std::byte> bytes = payload();
  while (!is_over.load()) {
    DescriptorLandings::process().scatter_around(region, bytes.data(), kPayload);
    n_scattered.fetch_add(1);
  }
  writer.join();
}

}  // namespace
}  // namespace sluice::ops::descriptor_landings_test
