// SPDX-License-Identifier: BSD-3-Clause
// NodeFlags: words of memory that the processes of a node share. A receiver raises one in place of a message, where the
// sender looks at it itself: that takes a tenth of what the host MPI takes for a message of no bytes (ADR 0015).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "wire/mpi.hpp"
#include "wire/shared_segment.hpp"

namespace sluice::wire {

class NodeFlags {
 public:
  // Of each process: as many threads may wait at once. Later ones find none, and do without.
  static constexpr int kPerProcess = 64;

  // Collective over `comm`, on which this process has `rank`; `nodes` tells the ranks of one node by equal numbers.
  // Blocks. After an error there are no flags, on any process of this node.
  [[nodiscard]] Status open(MPI_Comm comm, int rank, const std::vector<std::uint64_t> &nodes);

  // Takes a flag of this process's own for an operation: 1 to kPerProcess, or 0 when there is none. Any thread.
  [[nodiscard]] int take() noexcept;
  void give(int flag) noexcept;

  // Whether flags of `rank`'s can be raised here.
  [[nodiscard]] bool reaches(int rank) const noexcept { return places_[static_cast<std::size_t>(rank)] >= 0; }
  // Raises flag `flag` of `rank`, which is reached: it says `operation` from now on, and whoever sees that sees all
  // that this thread has done before. Any thread.
  void raise(int rank, int flag, std::uint64_t operation) const noexcept {
    word(places_[static_cast<std::size_t>(rank)], flag).store(operation, std::memory_order_release);
  }
  // What flag `flag` of this process says. Hot. Any thread.
  [[nodiscard]] std::uint64_t read(int flag) const noexcept {
    return word(own_place_, flag).load(std::memory_order_acquire);
  }

 private:
  static constexpr std::size_t kLineBytes = 64;  // each on a line of its own
  [[nodiscard]] Status share(MPI_Comm node, bool is_first, std::size_t n_processes);
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(int place, int flag) const noexcept {
    const std::size_t line = static_cast<std::size_t>(place) * kPerProcess + static_cast<std::size_t>(flag - 1);
    return std::atomic_ref(
        *reinterpret_cast<std::uint64_t *>(static_cast<std::byte *>(segment_.data()) + line * kLineBytes));
  }

  SharedSegment segment_;
  std::vector<int> places_;  // in the segment, by rank; -1: not reached
  int own_place_ = -1;
  std::mutex mutex_;
  std::vector<int> free_;
};

}  // namespace sluice::wire
