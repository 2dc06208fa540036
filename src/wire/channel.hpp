// SPDX-License-Identifier: BSD-3-Clause
// Channel: Sluice's own communicator over MPI_COMM_WORLD, and what the ranks agreed on when it was made.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "base/collective_terms.hpp"
#include "base/short_mutex.hpp"
#include "base/status.hpp"
#include "wire/mpi.hpp"

namespace sluice::wire {

// What a private message is; part of its tag (docs/protocol.md, "Messages").
enum class PrivateKind : std::uint8_t { kAcknowledgement = 0, kBlock = 1, kControl = 2, kClaim = 3 };

// gather(), open() and close(): one thread, in MPI_Init and MPI_Finalize. All else: any thread.
class Channel {
 public:
  // The process's. Never destroyed.
  static Channel &process();

  // In MPI_Init, right behind the host MPI's: makes the communicator with all ranks of MPI_COMM_WORLD, in a way that
  // none of them can meet with a call of the program's, if one does not run Sluice (docs/adr/0064). Blocks for all who
  // do. Where one is known not to, there is no communicator and the channel stays closed; where one does not come, the
  // job ends with a message. Errors: those of the host MPI; kUnsupported, at one rank, where one is known not to run
  // Sluice.
  [[nodiscard]] Status gather();
  // Collective over all that have gathered: opens the channel when every rank allows it and any rank wants it. Of
  // the terms that the ranks come with the most reserved hold. Nothing where they have not gathered. Blocks. Errors:
  // those of the host MPI; it stays closed then, and all messages are staged.
  [[nodiscard]] Status open(bool allows, bool wants, const CollectiveTerms &terms);
  // Gives the communicator back, or leaves it to the host MPI's end where that cannot say that no message is left in
  // it. Nothing may be in flight on it. In MPI_Finalize; local.
  void close() noexcept;

  // Hot; between MPI_Init and MPI_Finalize it does not change.
  [[nodiscard]] bool is_open() const noexcept { return is_open_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  // Another one, for folds in the order of the ranks (ops/coll/fold/fold_group.hpp): MPI_COMM_NULL unless terms() has
  // that.
  [[nodiscard]] MPI_Comm rank_order_comm() const noexcept { return rank_order_comm_; }
  [[nodiscard]] int largest_tag() const noexcept { return largest_tag_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(nodes_.size()); }
  // A number that only this job knows: marks its descriptors.
  [[nodiscard]] std::uint64_t nonce() const noexcept { return nonce_; }
  // Whether `rank` of MPI_COMM_WORLD runs on this node.
  [[nodiscard]] bool is_local(int rank) const noexcept {
    return nodes_[static_cast<std::size_t>(rank)] == nodes_[static_cast<std::size_t>(rank_)];
  }
  // A number for the node of `rank` of MPI_COMM_WORLD, the same for all ranks there.
  [[nodiscard]] std::uint64_t node_of(int rank) const noexcept { return nodes_[static_cast<std::size_t>(rank)]; }
  // The same on all ranks.
  [[nodiscard]] const CollectiveTerms &terms() const noexcept { return terms_; }
  // Several threads may call MPI at once.
  [[nodiscard]] bool has_threads() const noexcept { return has_threads_; }

  // A number for one operation's private messages, unique among this process's unfinished ones, until it is given back.
  // Errors: there are no more.
  [[nodiscard]] Status take_number(int *number);
  void give_number(int number) noexcept;
  // The highest number that take_number() gives on any rank: those above have no tags.
  [[nodiscard]] int most_number() const noexcept { return n_numbers_ - 1; }
  // The tag of a private message about operation `number` (control messages have the number 0).
  [[nodiscard]] static constexpr int tag(PrivateKind kind, int number) noexcept {
    return number * 4 + static_cast<int>(kind);
  }

 private:
  [[nodiscard]] Status agree();

  bool is_open_ = false;
  bool has_threads_ = false;
  CollectiveTerms terms_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm rank_order_comm_ = MPI_COMM_NULL;
  int largest_tag_ = 0;
  int rank_ = 0;
  std::uint64_t nonce_ = 0;
  std::vector<std::uint64_t> nodes_;  // by rank, equal on one node
  ShortMutex mutex_;
  std::vector<int> free_numbers_;
  int next_number_ = 0;
  int n_numbers_ = 0;
};

}  // namespace sluice::wire
