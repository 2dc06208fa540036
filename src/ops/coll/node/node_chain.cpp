// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_chain.hpp"

#include "plan/joint.hpp"

namespace sluice::ops::coll {

using transfer::Board;
using transfer::Published;
using transfer::StridedBlock;

// How many chunks have come is one word of the board.
static_assert(plan::kMostChunks <= Board::kNoMore);

// Where the data is, is what another rank says of its own memory: checked before it is believed.
MaybePartEnd NodeChain::begin() {
  const Published &root = heard_.of(call_.root);
  bytes_ = offer_.blocks.offered.front().size_bytes();
  if (call_.root == member_.rank) {
    board_.set_chunks(number_, static_cast<std::uint32_t>(transfer::count_chunks(bytes_, root.chunk_bytes)));
    return PartEnd();
  }
  span_.begin();
  if (bytes_ == 0) return {};
  const int before = rank_before();
  const Published &source = heard_.of(before);
  const StridedBlock block = heard_.block_for_me(before);
  if (!block.is_within(source.allocation_bytes) || block.n_runs != 1 || block.size_bytes() != bytes_) {
    return failed(transfer::nonsense_of(before, "it passes on what does not lie in its memory"));
  }
  std::byte *base = nullptr;
  Status status = reach_.open(before, source.handle, source.base_address, source.allocation_bytes, place_, &base);
  if (!status.is_ok()) return not_reached(status);
  const sluice_copy_t copy = {offer_.blocks.offered.front().origin, base + block.offset_bytes, bytes_};
  copy_ = std::make_unique<transfer::ChunkedCopy>(copy, root.chunk_bytes);
  status = copy_->open(place_);
  return status.is_ok() ? MaybePartEnd() : failed(status);
}

MaybePartEnd NodeChain::advance() {
  if (copy_ != nullptr) {
    const int before = rank_before();
    const auto ended = board_.ending_of(number_, before);  // before what it said until then is read
    const std::uint32_t there = board_.chunks_of(number_, before);
    // The one before it has its reason, and all will hear of it; or it has not read what this one has.
    if (there == Board::kNoMore || (ended && there < copy_->n_chunks())) return gave_up(before, ended);
    if (Status status = copy_->advance(there); !status.is_ok()) return failed(status);
    board_.set_chunks(number_, static_cast<std::uint32_t>(copy_->n_copied()));
    if (!copy_->is_done()) return {};
  }
  span_.end(trace::Lane::kD2d, {call_.operation, rank_before()}, {bytes_});
  return PartEnd();
}

}  // namespace sluice::ops::coll
