// SPDX-License-Identifier: BSD-3-Clause
// BoardView: the memory that the ranks of a communicator share in collective calls (transfer/board.hpp), as somebody
// sees it who writes there what he likes. And SharedPage: how the ranks of a test wait for each other without MPI.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "transfer/board.hpp"

namespace sluice::tests {

// A mapping of this process that others have, too.
struct Mapping {
  unsigned char *begin = nullptr;
  std::size_t size_bytes = 0;
  bool operator==(const Mapping &) const = default;
};
// Those of Sluice.
std::vector<Mapping> find_shared_mappings();

class BoardView {
 public:
  BoardView(unsigned char *begin, int n_ranks) : begin_(begin), n_ranks_(n_ranks) {}

  // Words of a rank's flags, by their place in there.
  static constexpr std::size_t kPublished = 0;
  static constexpr std::size_t kContent = 1;
  static constexpr std::size_t kChunks = kContent + transfer::Board::kSlots;
  static constexpr std::size_t kEnded = kChunks + transfer::Board::kSlots;
  std::atomic<std::uint64_t> &flag(int rank, std::size_t word) const;

  // What a rank said of its last call: a transfer::Published, and blocks.
  unsigned char *said_by(int rank) const;
  // So many bytes of it are somebody's words, with a block more than there are ranks.
  std::size_t said_bytes() const;
  // All places for what a rank says.
  Mapping slots_of(int rank) const;
  // In whole pages.
  std::size_t whole_bytes() const;

 private:
  unsigned char *begin_;
  int n_ranks_;
};

// Zeroed numbers that all ranks of `comm` write and read.
class SharedPage {
 public:
  // Collective. Throws std::runtime_error.
  explicit SharedPage(MPI_Comm comm);
  ~SharedPage();
  SharedPage(const SharedPage &) = delete;
  SharedPage &operator=(const SharedPage &) = delete;
  SharedPage(SharedPage &&) = delete;
  SharedPage &operator=(SharedPage &&) = delete;

  std::atomic<std::uint64_t> &at(std::size_t index) const;
  // Until it is at least that.
  void wait_for(std::size_t index, std::uint64_t value) const;

 private:
  void *page_ = nullptr;
};

}  // namespace sluice::tests
