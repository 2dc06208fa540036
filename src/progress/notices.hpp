// SPDX-License-Identifier: BSD-3-Clause
// Notices: what ranks tell those that wait for their data in a collective call that the host MPI carries out, when they
// have none to send (ops/coll/host/whole_call.hpp). Short messages on the private communicator, taken in while a
// process waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "wire/channel.hpp"

namespace sluice::progress {

// Which call of which group of ranks it is about. Plain bytes, sent as they are.
struct Notice {
  std::uint64_t group = 0;
  std::uint64_t call = 0;

  [[nodiscard]] bool operator==(const Notice &other) const noexcept = default;
};

// Any thread.
class Notices {
 public:
  // No other private message has it: the numbers of those begin with 1.
  static constexpr int kTag = wire::Channel::tag(wire::PrivateKind::kAcknowledgement, 0);

  // The process's. Never destroyed.
  static Notices &process();

  // Takes in those that have come. Does not block.
  void receive();
  // Whether there are any. Hot.
  [[nodiscard]] bool are_there() const noexcept { return n_known_.load(std::memory_order_acquire) != 0; }
  // Whether somebody has said this; then forgets it, and *rank is who did, in MPI_COMM_WORLD.
  [[nodiscard]] bool take(const Notice &wanted, int *rank);

 private:
  struct Known {
    Notice notice;
    int rank = 0;
  };
  std::atomic<std::size_t> n_known_{0};
  std::mutex mutex_;
  std::vector<Known> known_;  // the oldest first
};

}  // namespace sluice::progress
