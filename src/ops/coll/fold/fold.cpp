// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/fold/fold.hpp"

#include <algorithm>
#include <climits>

#include "ops/datatype/layout_of.hpp"
#include "transfer/reduction_steps.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

using transfer::Share;

// Of each input, at a time.
constexpr std::int64_t kTileElements = std::int64_t{1} << 21;

// Blocks of a reduce-scatter: all are counted by ints, as are the elements of one block of all inputs.
bool are_blocks_good(const Call &call, std::size_t n_ranks) {
  if (call.recv.counts.is_named() && call.recv.counts.is_null()) return false;
  std::int64_t all = 0;
  std::int64_t longest = 0;
  for (std::size_t rank = 0; rank < n_ranks; ++rank) {
    const std::int64_t count = call.recv.count_at(rank);
    if (count < 0 || count > INT_MAX) return false;
    all += count;
    longest = std::max(longest, count);
  }
  return all > 0 && all <= INT_MAX && longest * static_cast<std::int64_t>(n_ranks) <= INT_MAX;
}

}  // namespace

bool can_be_folded(const Call &call, const Member &member) {
  const MPI_Datatype type = call.input().type;
  if (!is_valid(type)) return false;
  if (call.pattern == Pattern::kReduce && (call.root < 0 || call.root >= member.size)) return false;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  if (wire::host().MPI_Type_get_extent(type, &lower, &extent) != MPI_SUCCESS || extent <= 0) return false;
  return call.pattern == Pattern::kReduceScatter ? are_blocks_good(call, static_cast<std::size_t>(member.size))
                                                 : call.input().count > 0;
}

Fold::Fold(const Call &call, const Member &member)
    : call_(call),
      rank_(static_cast<std::size_t>(member.rank)),
      n_ranks_(static_cast<std::size_t>(member.size)),
      type_(call.input().type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  if (wire::host().MPI_Type_get_extent(type_, &lower, &extent) == MPI_SUCCESS && extent > 0) {
    element_bytes_ = static_cast<std::uint64_t>(extent);
  }
  recv_ = static_cast<std::byte *>(call.recv.buffer);
  send_ = call.send.is_in_place() ? recv_ : static_cast<std::byte *>(call.send.buffer);
  if (call.pattern != Pattern::kReduceScatter) count_ = call.input().count;
  for (std::vector<int> *list : {&counts_, &places_, &own_counts_, &own_places_}) list->resize(n_ranks_);
  divide();
}

void Fold::divide() {
  int place = 0;
  const auto n = static_cast<std::uint64_t>(std::min(kTileElements, count_ - done_));
  for (std::size_t rank = 0; rank < n_ranks_; ++rank) {
    if (call_.pattern == Pattern::kReduceScatter) {
      counts_[rank] = static_cast<int>(call_.recv.count_at(rank));
      places_[rank] = place;
      place += counts_[rank];
    } else {
      const Share share = transfer::share_of(n, element_bytes_, n_ranks_, rank);
      counts_[rank] = static_cast<int>(share.count());
      places_[rank] = static_cast<int>(share.first);
    }
  }
}

bool Fold::next() {
  done_ += kTileElements;
  if (done_ >= count_) return false;
  divide();
  return true;
}

FoldExchange Fold::gather() {
  const int own = counts_[rank_];
  for (std::size_t rank = 0; rank < n_ranks_; ++rank) {
    own_counts_[rank] = own;
    own_places_[rank] = static_cast<int>(rank) * own;
  }
  shares_.resize(static_cast<std::size_t>(own) * n_ranks_ * element_bytes_);
  const std::byte *const from = send_ + static_cast<std::uint64_t>(done_) * element_bytes_;
  return {.from = from,
          .sent = counts_.data(),
          .sent_places = places_.data(),
          .to = shares_.data(),
          .received = own_counts_.data(),
          .places = own_places_.data(),
          .type = type_,
          .element_bytes = element_bytes_,
          .n_ranks = n_ranks_};
}

// Each step leaves what the inputs so far come to in the place of the last of them.
int Fold::fold() {
  const int own = counts_[rank_];
  const std::size_t share_bytes = static_cast<std::size_t>(own) * element_bytes_;
  int code = MPI_SUCCESS;
  for (std::size_t rank = 1; rank < n_ranks_ && own > 0 && code == MPI_SUCCESS; ++rank) {
    std::byte *const here = shares_.data() + rank * share_bytes;
    code = wire::host().MPI_Reduce_local(here - share_bytes, here, own, type_, call_.op);
  }
  return code;
}

bool Fold::gets_result(std::size_t rank) const noexcept {
  if (call_.pattern == Pattern::kReduce) return rank == static_cast<std::size_t>(call_.root);
  if (call_.pattern == Pattern::kReduceScatter) return rank == rank_;  // of the own block
  return call_.pattern != Pattern::kExscan || rank > 0;
}

std::size_t Fold::last_input_of(std::size_t rank) const noexcept {
  if (call_.pattern == Pattern::kScan) return rank;
  return call_.pattern == Pattern::kExscan ? rank - 1 : n_ranks_ - 1;
}

FoldExchange Fold::spread() {
  const int own = counts_[rank_];
  const bool is_scattered = call_.pattern == Pattern::kReduceScatter;
  for (std::size_t rank = 0; rank < n_ranks_; ++rank) {
    own_counts_[rank] = gets_result(rank) ? own : 0;
    own_places_[rank] = gets_result(rank) ? static_cast<int>(last_input_of(rank)) * own : 0;
    const bool comes_from = is_scattered ? rank == rank_ : gets_result(rank_);
    if (!comes_from) counts_[rank] = 0;
    if (is_scattered) places_[rank] = 0;
  }
  std::byte *const to = recv_ == nullptr ? nullptr : recv_ + static_cast<std::uint64_t>(done_) * element_bytes_;
  return {.from = shares_.data(),
          .sent = own_counts_.data(),
          .sent_places = own_places_.data(),
          .to = to,
          .received = counts_.data(),
          .places = places_.data(),
          .type = type_,
          .element_bytes = element_bytes_,
          .n_ranks = n_ranks_};
}

}  // namespace sluice::ops::coll
