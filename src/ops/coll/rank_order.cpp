// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/rank_order.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "generated/operations.hpp"
#include "ops/coll/two_level_reduction.hpp"
#include "ops/datatype/layout_of.hpp"
#include "ops/request/collective.hpp"
#include "transfer/reduction_steps.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

using transfer::Share;

// Of each input, at a time.
constexpr std::int64_t kTileElements = std::int64_t{1} << 21;

class Fold {
 public:
  Fold(const Call &call, const Member &member, std::uint64_t element_bytes)
      : call_(call), rank_(static_cast<std::size_t>(member.rank)), n_ranks_(static_cast<std::size_t>(member.size)) {
    element_bytes_ = element_bytes;
    recv_ = static_cast<std::byte *>(call.recv.buffer);
    send_ = call.send.is_in_place() ? recv_ : static_cast<std::byte *>(call.send.buffer);
    for (std::vector<int> *list : {&counts_, &places_, &own_counts_, &own_places_}) list->resize(n_ranks_);
  }

  [[nodiscard]] int run_in_tiles();
  [[nodiscard]] int run_blocks(const std::vector<int> &blocks);

 private:
  [[nodiscard]] int gather(const std::byte *from);
  [[nodiscard]] int fold();
  [[nodiscard]] int spread(std::byte *to);
  [[nodiscard]] bool gets_result(std::size_t rank) const noexcept;
  // Behind which input the result of `rank` ends.
  [[nodiscard]] std::size_t last_input_of(std::size_t rank) const noexcept;
  [[nodiscard]] int exchange(const void *from, const std::vector<int> &sent, const std::vector<int> &sent_places,
                             void *to, const std::vector<int> &received, const std::vector<int> &places) const;

  const Call &call_;
  const std::size_t rank_;
  const std::size_t n_ranks_;
  std::uint64_t element_bytes_;
  std::byte *send_;
  std::byte *recv_;
  // Of every rank's share of the elements: how many, and where they begin.
  std::vector<int> counts_;
  std::vector<int> places_;
  // This rank's share of every rank's input, one after the other in shares_; then what the inputs up to it come to.
  std::vector<int> own_counts_;
  std::vector<int> own_places_;
  std::vector<std::byte> shares_;
};

int Fold::exchange(const void *from, const std::vector<int> &sent, const std::vector<int> &sent_places, void *to,
                   const std::vector<int> &received, const std::vector<int> &places) const {
  const wire::Host &host = wire::host();
  const MPI_Datatype type = call_.send.is_in_place() ? call_.recv.type : call_.send.type;
  return in_turns(
      call_.comm,
      [&] {
        return host.MPI_Alltoallv(from, sent.data(), sent_places.data(), type, to, received.data(), places.data(), type,
                                  call_.comm);
      },
      [&](MPI_Request *request) {
        return host.MPI_Ialltoallv(from, sent.data(), sent_places.data(), type, to, received.data(), places.data(),
                                   type, call_.comm, request);
      });
}

int Fold::gather(const std::byte *from) {
  const int own = counts_[rank_];
  for (std::size_t rank = 0; rank < n_ranks_; ++rank) {
    own_counts_[rank] = own;
    own_places_[rank] = static_cast<int>(rank) * own;
  }
  shares_.resize(static_cast<std::size_t>(own) * n_ranks_ * element_bytes_);
  return exchange(from, counts_, places_, shares_.data(), own_counts_, own_places_);
}

// Each step leaves what the inputs so far come to in the place of the last of them.
int Fold::fold() {
  const int own = counts_[rank_];
  const std::size_t share_bytes = static_cast<std::size_t>(own) * element_bytes_;
  const MPI_Datatype type = call_.send.is_in_place() ? call_.recv.type : call_.send.type;
  int code = MPI_SUCCESS;
  for (std::size_t rank = 1; rank < n_ranks_ && own > 0 && code == MPI_SUCCESS; ++rank) {
    std::byte *const here = shares_.data() + rank * share_bytes;
    code = wire::host().MPI_Reduce_local(here - share_bytes, here, own, type, call_.op);
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

int Fold::spread(std::byte *to) {
  const int own = counts_[rank_];
  const bool is_scattered = call_.pattern == Pattern::kReduceScatter;
  for (std::size_t rank = 0; rank < n_ranks_; ++rank) {
    own_counts_[rank] = gets_result(rank) ? own : 0;
    own_places_[rank] = gets_result(rank) ? static_cast<int>(last_input_of(rank)) * own : 0;
    const bool comes_from = is_scattered ? rank == rank_ : gets_result(rank_);
    if (!comes_from) counts_[rank] = 0;
    if (is_scattered) places_[rank] = 0;
  }
  return exchange(shares_.data(), own_counts_, own_places_, to, counts_, places_);
}

int Fold::run_in_tiles() {
  const std::int64_t count = call_.send.is_in_place() ? call_.recv.count : call_.send.count;
  int first_error = MPI_SUCCESS;
  for (std::int64_t done = 0; done < count; done += kTileElements) {
    const auto n = static_cast<std::uint64_t>(std::min(kTileElements, count - done));
    for (std::size_t rank = 0; rank < n_ranks_; ++rank) {
      const Share share = transfer::share_of(n, element_bytes_, n_ranks_, rank);
      counts_[rank] = static_cast<int>(share.count());
      places_[rank] = static_cast<int>(share.first);
    }
    const std::uint64_t offset = static_cast<std::uint64_t>(done) * element_bytes_;
    // A step that fails here does not end the call: the others wait in the next one.
    for (const int code : {gather(send_ + offset), fold(), spread(recv_ == nullptr ? nullptr : recv_ + offset)}) {
      if (first_error == MPI_SUCCESS) first_error = code;
    }
  }
  return first_error;
}

int Fold::run_blocks(const std::vector<int> &blocks) {
  int place = 0;
  for (std::size_t rank = 0; rank < n_ranks_; ++rank) {
    counts_[rank] = blocks[rank];
    places_[rank] = place;
    place += blocks[rank];
  }
  int first_error = MPI_SUCCESS;
  for (const int code : {gather(send_), fold(), spread(recv_)}) {
    if (first_error == MPI_SUCCESS) first_error = code;
  }
  return first_error;
}

// Blocks of MPI_Reduce_scatter, by rank; false where an int does not tell them all.
bool find_blocks(const Call &call, const Member &member, std::vector<int> *blocks) {
  std::int64_t all = 0;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(member.size); ++rank) {
    const std::int64_t count = call.recv.counts.is_named() ? call.recv.counts.at(rank) : call.recv.count;
    all += count;
    if (count > INT_MAX || all > INT_MAX) return false;
    blocks->push_back(static_cast<int>(count));
  }
  // Its own share of all inputs is as long as they say, too.
  const auto most = static_cast<std::int64_t>(*std::max_element(blocks->begin(), blocks->end()));
  return most * member.size <= INT_MAX;
}

// What the host MPI is to refuse, it is given.
bool is_good(const Call &call, const Member &member) {
  const MPI_Datatype type = call.send.is_in_place() ? call.recv.type : call.send.type;
  if (!is_valid(type)) return false;
  if (call.pattern == Pattern::kReduce && (call.root < 0 || call.root >= member.size)) return false;
  if (call.pattern != Pattern::kReduceScatter) {
    return (call.send.is_in_place() ? call.recv.count : call.send.count) > 0;
  }
  if (!call.recv.counts.is_named()) return call.recv.count > 0;
  if (call.recv.counts.is_null()) return false;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(member.size); ++rank) {
    if (call.recv.counts.at(rank) < 0) return false;
  }
  return true;
}

}  // namespace

bool is_folded_in_rank_order(const Call &call, const Member &member) {
  return call.form == Form::kBlocking && keeps_rank_order(call) && !member.is_inter && member.size > 1 &&
         !is_by_own_operation(call.op) && is_good(call, member);
}

int fold_in_rank_order(const Call &call, const Member &member) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  const MPI_Datatype type = call.send.is_in_place() ? call.recv.type : call.send.type;
  const int code = wire::host().MPI_Type_get_extent(type, &lower, &extent);
  if (code != MPI_SUCCESS || extent <= 0) return call_in_turns(call);
  if (log::level() >= log::Level::kDebug) {
    log::debug("plan", std::string(name(call.operation)) +
                           ": staged -> in the order of the ranks: SLUICE_REDUCE_ORDER is rank");
  }
  Fold fold(call, member, static_cast<std::uint64_t>(extent));
  if (call.pattern != Pattern::kReduceScatter) return fold.run_in_tiles();
  std::vector<int> blocks;
  return find_blocks(call, member, &blocks) ? fold.run_blocks(blocks) : call_in_turns(call);
}

}  // namespace sluice::ops::coll
