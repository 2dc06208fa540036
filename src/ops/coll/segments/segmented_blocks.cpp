// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/segments/segmented_blocks.hpp"

#include <algorithm>
#include <utility>

#include "ops/datatype/layout_of.hpp"

namespace sluice::ops::coll {
namespace {

using plan::SegmentLengths;
using transfer::CutBlock;
using transfer::CutShape;
using Content = CollectiveSide::Content;

// Null: the type is no good, or has gaps.
transfer::LayoutPtr gapless_layout(MPI_Datatype type) {
  transfer::LayoutPtr layout;
  if (!layout_if_valid(type, &layout).is_ok() || layout == nullptr || !layout->is_contiguous) return nullptr;
  return layout;
}

// Finds the blocks of one argument.
class Finder {
 public:
  explicit Finder(const plan::SegmentQuery &query) noexcept : query_(query) {}

  bool find(const Argument &argument, const CollectiveSide &side, int n_blocks, CutShape *shape) {
    if (side.content() == Content::kUnread || argument.is_in_place()) return false;
    const bool is_found = query_.lengths == SegmentLengths::kEqual ? find_equal(argument, n_blocks, shape)
                                                                   : find_unequal(argument, n_blocks, shape);
    if (!is_found || side.content() != Content::kDevice) return is_found;
    shape->place = side.place();
    const auto first = std::find_if(shape->blocks.begin(), shape->blocks.end(),
                                    [](const CutBlock &block) { return block.size_bytes != 0; });
    return first == shape->blocks.end() || transfer::refuse_freed(shape->place, first->begin).is_ok();
  }

 private:
  bool find_equal(const Argument &argument, int n_blocks, CutShape *shape) {
    if (argument.buffer == nullptr || argument.count <= 0) return false;
    const transfer::LayoutPtr layout = gapless_layout(argument.type);
    std::uint64_t bytes = 0;
    if (layout == nullptr ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(argument.count), layout->size_bytes, &bytes) ||
        bytes != query_.block_bytes) {
      return false;
    }
    *shape = CutShape::of_equal(static_cast<std::byte *>(argument.buffer), {}, static_cast<std::uint64_t>(n_blocks),
                                bytes, part_bytes_of(query_));
    return true;
  }

  bool find_unequal(const Argument &argument, int n_blocks, CutShape *shape) {
    if (!has_arrays(argument)) return false;
    shape->is_laid_out = true;
    shape->blocks.resize(static_cast<std::size_t>(n_blocks));
    for (std::size_t i = 0; i < shape->blocks.size(); ++i) {
      if (!find_block(argument, i, &shape->blocks[i])) return false;
    }
    return true;
  }

  bool find_block(const Argument &argument, std::size_t i, CutBlock *block) {
    const std::int64_t count = argument.count_at(i);
    if (count <= 0) return count == 0;
    const MPI_Datatype type = argument.has_types ? argument.types[i] : argument.type;
    if (layout_ == nullptr || type != type_) {
      layout_ = gapless_layout(type);
      type_ = type;
    }
    if (layout_ == nullptr ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(count), layout_->size_bytes, &block->size_bytes)) {
      return false;
    }
    if (block->size_bytes == 0) return true;
    std::int64_t offset = argument.displacements.is_named() ? argument.displacements.at(i) : 0;
    if (!argument.has_types && __builtin_mul_overflow(offset, layout_->extent_bytes, &offset)) return false;
    if (argument.buffer == nullptr) return false;  // absolute addresses may lead anywhere
    block->begin = static_cast<std::byte *>(argument.buffer) + offset;
    return true;
  }

  const plan::SegmentQuery &query_;
  // The layout found last, and its type.
  MPI_Datatype type_{};
  transfer::LayoutPtr layout_;
};

// Bytes of all blocks.
std::uint64_t size_of(const CutShape &shape) noexcept {
  std::uint64_t bytes = 0;
  for (const CutBlock &block : shape.blocks) {
    if (__builtin_add_overflow(bytes, block.size_bytes, &bytes)) return ~std::uint64_t{0};
  }
  return bytes;
}

// Where everybody's own block is in place already: from there it goes to the others.
CutShape own_block_of(CutShape *all, int rank) {
  CutShape own;
  own.place = all->place;
  own.is_laid_out = all->is_laid_out;
  own.blocks.push_back(all->blocks[static_cast<std::size_t>(rank)]);
  all->skipped = rank;
  // The host MPI must not be given the same bytes to send and to write.
  all->is_kept_apart = true;
  return own;
}

bool find_moved(const Call &call, const Member &member, const Sides &sides, Finder *finder, SegmentedBlocks *shapes) {
  const bool is_root = call.root == member.rank;
  const int n = member.size;
  const auto send = [&](int n_blocks) { return finder->find(call.send, sides.send, n_blocks, &shapes->send); };
  const auto receive = [&](int n_blocks) { return finder->find(call.recv, sides.recv, n_blocks, &shapes->recv); };
  switch (call.pattern) {
    case Pattern::kBroadcast:
      return finder->find(call.recv, sides.recv, 1, is_root ? &shapes->send : &shapes->recv);
    case Pattern::kGather:
      if (is_root && !receive(n)) return false;
      if (!call.send.is_in_place()) return send(1);
      shapes->recv.skipped = member.rank;
      return is_root;
    case Pattern::kScatter:
      if (is_root && !send(n)) return false;
      if (!call.recv.is_in_place()) return receive(1);
      shapes->send.skipped = member.rank;
      return is_root;
    case Pattern::kAllgather:
      if (!receive(n)) return false;
      if (!call.send.is_in_place()) return send(1);
      shapes->send = own_block_of(&shapes->recv, member.rank);
      return true;
    case Pattern::kAlltoall:
      return send(n) && receive(n);
    default:
      break;
  }
  return false;
}

// For what the host MPI may write and nobody reads: as much memory of our own.
CutShape room_like(const CutShape &other) {
  CutShape room = other;
  room.place = {};
  room.skipped = 0;
  room.is_kept_apart = true;
  return room;
}

bool find_reduced(const Call &call, const Member &member, const Sides &sides, Finder *finder, SegmentedBlocks *shapes) {
  const bool is_root = call.root == member.rank;
  if (call.pattern == Pattern::kReduceScatter) {
    Argument sent = call.send;
    sent.count = call.recv.count;  // of each block; MPI has no other
    return finder->find(sent, sides.send, member.size, &shapes->send) &&
           finder->find(call.recv, sides.recv, 1, &shapes->recv);
  }
  const bool has_no_result = call.pattern == Pattern::kExscan && member.rank == 0;  // nobody is before it
  const bool has_result = call.pattern == Pattern::kReduce ? is_root : !has_no_result;
  if (has_result && !finder->find(call.recv, sides.recv, 1, &shapes->recv)) return false;
  const bool is_found = call.send.is_in_place() ? finder->find(call.recv, sides.recv, 1, &shapes->send)
                                                : finder->find(call.send, sides.send, 1, &shapes->send);
  if (!is_found) return false;
  if (has_no_result) shapes->recv = room_like(shapes->send);
  return true;
}

}  // namespace

bool SegmentedBlocks::find(const Call &call, const Member &member, const Sides &sides, plan::SegmentQuery *query) {
  Finder finder(*query);
  const bool is_found = is_reduction(call.pattern) ? find_reduced(call, member, sides, &finder, this)
                                                   : find_moved(call, member, sides, &finder, this);
  if (query->lengths == SegmentLengths::kEqual) return is_found;
  query->longest_bytes = is_found ? std::max(size_of(send), size_of(recv)) : 0;
  if (!is_found) return false;
  const std::uint64_t n_segments = plan::n_segments_of(query->longest_bytes, query->segment_bytes);
  for (CutShape *shape : {&send, &recv}) {
    for (CutBlock &block : shape->blocks) {
      block.part_bytes = plan::unequal_part_bytes(block.size_bytes, n_segments, query->segment_bytes);
    }
  }
  return true;
}

}  // namespace sluice::ops::coll
