// SPDX-License-Identifier: BSD-3-Clause
// Fold: a reduction in the order of the ranks, part by part, on memory that the host MPI may touch (docs/adr/0030,
// "Order"). Each rank gets its share of the elements of all inputs by one exchange, folds it from the left with
// MPI_Reduce_local, and gives it by a second one to all that get it. Who makes the exchanges, and how it waits for
// them, is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"

namespace sluice::ops::coll {

// Arguments of an MPI_Alltoallv of elements of one type, on all ranks; counts and places are of elements. Any thread
// may read it.
struct FoldExchange {
  [[nodiscard]] std::size_t bytes(int n_elements) const noexcept {
    return static_cast<std::size_t>(n_elements) * element_bytes;
  }

  const void *from = nullptr;
  const int *sent = nullptr;
  const int *sent_places = nullptr;
  void *to = nullptr;
  const int *received = nullptr;
  const int *places = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::uint64_t element_bytes = 1;
  std::size_t n_ranks = 0;
};

// One rank's part of one reduction. One thread at a time.
class Fold {
 public:
  // `call` outlives it, and is one of those that can_be_folded() is true for.
  Fold(const Call &call, const Member &member);

  // In this order for each part: gather() and its exchange, fold(), spread() and its exchange, next(). A step that
  // fails ends nothing: the other ranks wait in the next one. What an exchange names stays until the next step.
  // gather() may throw std::bad_alloc.
  [[nodiscard]] FoldExchange gather();
  [[nodiscard]] int fold();
  [[nodiscard]] FoldExchange spread();
  // False when there is no part left.
  [[nodiscard]] bool next();

 private:
  void divide();
  [[nodiscard]] bool gets_result(std::size_t rank) const noexcept;
  // Behind which input the result of `rank` ends.
  [[nodiscard]] std::size_t last_input_of(std::size_t rank) const noexcept;

  const Call &call_;
  const std::size_t rank_;
  const std::size_t n_ranks_;
  const MPI_Datatype type_;
  std::uint64_t element_bytes_ = 1;
  std::byte *send_;
  std::byte *recv_;
  std::int64_t count_ = 0;  // of elements, where there are no blocks
  std::int64_t done_ = 0;
  // Of every rank's share of the elements of this part: how many, and where they begin.
  std::vector<int> counts_;
  std::vector<int> places_;
  // This rank's share of every rank's input, one after the other in shares_; then what the inputs up to it come to.
  std::vector<int> own_counts_;
  std::vector<int> own_places_;
  std::vector<std::byte> shares_;
};

// Whether a reduction by a predefined operation may be folded: its arguments are right, a type has an extent, and ints
// tell its blocks. The same on all ranks, of right arguments. Any thread.
[[nodiscard]] bool can_be_folded(const Call &call, const Member &member);

}  // namespace sluice::ops::coll
