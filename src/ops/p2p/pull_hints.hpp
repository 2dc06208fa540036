// SPDX-License-Identifier: BSD-3-Clause
// PullHints: which peers on this node lately could not pull. A sender does not know what kind of memory it sends to: a
// receiver into host memory asks for blocks, which costs a short message more than to be staged. So after one such
// answer the next short messages to that peer are not offered to be pulled, and then one is again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::ops {

// Threads: any.
class PullHints {
 public:
  // Longer messages are always offered: what a wrong guess costs them is little, and what it may gain is much.
  static constexpr std::uint64_t kLongestBytes = 8192;
  // Sends that are not offered after a peer asked for blocks.
  static constexpr std::uint8_t kPatience = 32;

  // For peers 0 to `n_peers` - 1.
  explicit PullHints(std::size_t n_peers) : rests_(n_peers) {}

  // The process's, for the ranks of MPI_COMM_WORLD; made by the first call, when the channel is open. Never destroyed.
  static PullHints &process();
  // The same for messages out of host memory, of any length: those that the peer cannot pull are better not offered.
  static PullHints &of_host_memory();

  // `peer` asked for the blocks of a message that it might have pulled.
  void note_blocks(int peer) noexcept { rests_[static_cast<std::size_t>(peer)].store(kPatience); }

  // One more send to `peer` is planned: whether to offer it. Hot: one load.
  [[nodiscard]] bool may_offer(int peer) noexcept {
    std::atomic<std::uint8_t> &rest = rests_[static_cast<std::size_t>(peer)];
    std::uint8_t left = rest.load(std::memory_order_relaxed);
    if (left == 0) return true;
    rest.compare_exchange_strong(left, static_cast<std::uint8_t>(left - 1), std::memory_order_relaxed);
    return false;
  }

 private:
  std::vector<std::atomic<std::uint8_t>> rests_;
};

}  // namespace sluice::ops
