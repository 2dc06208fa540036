// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_chain.hpp"

#include <algorithm>

#include "plan/joint.hpp"

namespace sluice::ops::coll {

using transfer::Board;
using transfer::Published;
using transfer::StridedBlock;

namespace {

// The chunks that have come in each row, in the one word that the board has for them. All of both rows are fewer than
// plan::kMostChunks, so that no two counts look like Board::kNoMore.
constexpr unsigned kCountBits = 16;
constexpr std::uint32_t kCountMask = (std::uint32_t{1} << kCountBits) - 1;
static_assert(plan::kMostChunks == std::uint64_t{1} << kCountBits);

std::uint64_t count_in(std::uint32_t said, std::size_t row) noexcept {
  return said >> (row * kCountBits) & kCountMask;
}

}  // namespace

void NodeChain::cut(const Published &root) {
  bytes_ = offer_.blocks.offered.front().size_bytes();
  n_rows_ = root.n_rows == rows_.size() ? rows_.size() : 1;
  rows_[0].before = rank_beside(-1);
  rows_[1].before = rank_beside(1);
  const std::uint64_t n_chunks = transfer::count_chunks(bytes_, root.chunk_bytes);
  rows_[0].size_bytes = n_rows_ == 1 ? bytes_ : std::min(bytes_, (n_chunks + 1) / 2 * root.chunk_bytes);
  rows_[1].first_byte = rows_[0].size_bytes;
  rows_[1].size_bytes = bytes_ - rows_[0].size_bytes;
}

Step NodeChain::begin() {
  const Published &root = heard_.of(call_.root);
  cut(root);
  if (call_.root == member_.rank) {
    say([&](const Row &row) { return transfer::count_chunks(row.size_bytes, root.chunk_bytes); });
    return Moved();
  }
  span_.begin();
  for (Row &row : rows_) {
    if (row.size_bytes == 0) continue;
    if (Step step = open(&row, root.chunk_bytes)) return step;
  }
  return {};
}

// Where the data is, is what another rank says of its own memory: checked before it is believed.
Step NodeChain::open(Row *row, std::uint64_t chunk_bytes) {
  const Published &source = heard_.of(row->before);
  const StridedBlock block = heard_.block_for_me(row->before);
  if (!block.is_within(source.allocation_bytes) || block.n_runs != 1 || block.size_bytes() != bytes_) {
    return failed(transfer::nonsense_of(row->before, "it passes on what does not lie in its memory"));
  }
  std::byte *base = nullptr;
  Status status = reach_.open(row->before, source.handle, source.base_address, source.allocation_bytes, place_, &base);
  if (!status.is_ok()) return not_reached(status);
  std::byte *const to = offer_.blocks.offered.front().origin + row->first_byte;
  const sluice_copy_t copy = {to, base + block.offset_bytes + row->first_byte, row->size_bytes};
  row->copy = std::make_unique<transfer::ChunkedCopy>(copy, chunk_bytes);
  // Two rows have a queue each that moves while the other tells of a chunk's end.
  status = row->copy->open(place_, n_rows_ == 1 ? 2 : 1);
  return status.is_ok() ? Step() : failed(status);
}

template <typename CountOf>
void NodeChain::say(CountOf count_of) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) word |= count_of(rows_[i]) << (i * kCountBits);
  board_.set_chunks(number_, static_cast<std::uint32_t>(word));
}

Step NodeChain::advance() {
  bool is_done = true;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row &row = rows_[i];
    if (row.copy == nullptr) continue;
    const auto ended = board_.ending_of(number_, row.before);  // before what it said until then is read
    const std::uint32_t there = board_.chunks_of(number_, row.before);
    // The one before it has its reason, and all will hear of it; or it has not read what this one has.
    if (there == Board::kNoMore || (ended && count_in(there, i) < row.copy->n_chunks())) {
      return gave_up(row.before, ended);
    }
    if (Status status = row.copy->advance(count_in(there, i)); !status.is_ok()) return failed(status);
    is_done = is_done && row.copy->is_done();
  }
  say([](const Row &row) { return row.copy == nullptr ? 0 : row.copy->n_copied(); });
  if (!is_done) return {};
  span_.end(trace::Lane::kD2d, {call_.operation, rows_[0].before}, {bytes_});
  return Moved();
}

}  // namespace sluice::ops::coll
