// SPDX-License-Identifier: BSD-3-Clause
// Boards of several ranks over one memory of this process, with threads in the ranks' place.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "transfer/board.hpp"

namespace sluice::transfer {

class SharedMemory {
 public:
  explicit SharedMemory(int n_ranks) : bytes_(Board::size_bytes(n_ranks) + kPage) {
    void *begin = bytes_.data();
    std::size_t room = bytes_.size();
    data_ = std::align(kPage, Board::size_bytes(n_ranks), begin, room);
    Board::prepare(data_, n_ranks);
  }
  [[nodiscard]] void *data() const { return data_; }

 private:
  static constexpr std::size_t kPage = 4096;
  std::vector<std::byte> bytes_;
  void *data_ = nullptr;
};

inline void wait_until(const std::function<bool()> &is_so) {
  while (!is_so()) std::this_thread::yield();
}

// What each of `n_ranks` found wrong, each a thread with a board of its own over one memory.
template <typename Body>
std::vector<int> count_wrong(int n_ranks, Body body) {
  const SharedMemory memory(n_ranks);
  std::vector<std::thread> ranks;
  std::vector<int> n_wrong(static_cast<std::size_t>(n_ranks), 0);
  for (int rank = 0; rank < n_ranks; ++rank) {
    ranks.emplace_back([&, rank] {
      Board board(memory.data(), n_ranks, rank);
      body(&board, rank, &n_wrong[static_cast<std::size_t>(rank)]);
    });
  }
  for (std::thread &rank : ranks) rank.join();
  return n_wrong;
}

}  // namespace sluice::transfer
