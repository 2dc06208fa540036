// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_blocks.hpp"

namespace sluice::ops::coll {
namespace {

// From itself on, round the ranks: copies are made one behind the other, and at each step no two ranks pull from the
// same one. (By number all would begin with rank 0, whose link would carry for one rank at a time: docs/adr/0014.)
void want_from_all(const CollectiveSide &side, const Member &member, int except, NodeBlocks *blocks) {
  for (int step = 0; step < member.size; ++step) {
    const int rank = (member.rank + step) % member.size;
    if (rank != except) blocks->wanted.push_back({rank, member.rank, side.block(rank)});
  }
}

void offer_to_all(const CollectiveSide &side, const Member &member, NodeBlocks *blocks) {
  for (int rank = 0; rank < member.size; ++rank) blocks->offered.push_back(side.block(rank));
}

// By ranks, or all in their order. At the border of a grid a block is for nobody.
void offer_to_neighbors(const Call &call, const Member &member, const CollectiveSide &side, bool is_by_ranks,
                        NodeBlocks *blocks) {
  const std::vector<int> &ranks = call.neighbors->destinations;
  blocks->offered.resize(is_by_ranks ? static_cast<std::size_t>(member.size) : ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == MPI_PROC_NULL) continue;
    blocks->offered[is_by_ranks ? static_cast<std::size_t>(ranks[i]) : i] = side.block(static_cast<int>(i));
  }
}

// At the border of a grid a block is from nobody, and stays as it is.
void want_from_neighbors(const Call &call, const Member &member, const CollectiveSide &side, const EdgePairing &pairing,
                         NodeBlocks *blocks) {
  const std::vector<int> &ranks = call.neighbors->sources;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == MPI_PROC_NULL) continue;
    const int block = pairing.edges == nullptr ? member.rank : (*pairing.edges)[i].block;
    blocks->wanted.push_back({ranks[i], block, side.block(static_cast<int>(i))});
  }
}

}  // namespace

NodeBlocks blocks_of(const Call &call, const Member &member, const Sides &sides, const EdgePairing &pairing) {
  NodeBlocks blocks;
  const bool is_root = call.root == member.rank;
  // Where a rank's own block is in place already: from nobody.
  const int except = call.send.is_in_place() ? member.rank : -1;
  switch (call.pattern) {
    case Pattern::kBroadcast:
      blocks.offered.push_back(sides.recv.block(0));  // those of the others too: what has come there can be passed on
      if (!is_root) blocks.wanted.push_back({call.root, member.rank, sides.recv.block(0)});
      break;
    case Pattern::kGather:
      if (!call.send.is_in_place()) blocks.offered.push_back(sides.send.block(0));
      if (is_root) want_from_all(sides.recv, member, except, &blocks);
      break;
    case Pattern::kScatter:
      if (is_root) offer_to_all(sides.send, member, &blocks);
      if (!call.recv.is_in_place()) blocks.wanted.push_back({call.root, member.rank, sides.recv.block(0)});
      break;
    case Pattern::kAllgather:
      blocks.offered.push_back(call.send.is_in_place() ? sides.recv.block(member.rank) : sides.send.block(0));
      want_from_all(sides.recv, member, except, &blocks);
      break;
    case Pattern::kAlltoall:
      offer_to_all(sides.send, member, &blocks);
      want_from_all(sides.recv, member, -1, &blocks);
      break;
    case Pattern::kNeighborAllgather:
      blocks.offered.push_back(sides.send.block(0));
      want_from_neighbors(call, member, sides.recv, pairing, &blocks);
      break;
    case Pattern::kNeighborAlltoall:
      offer_to_neighbors(call, member, sides.send, pairing.edges == nullptr, &blocks);
      want_from_neighbors(call, member, sides.recv, pairing, &blocks);
      break;
    default:  // nothing is moved, or a reduction
      break;
  }
  return blocks;
}

}  // namespace sluice::ops::coll
