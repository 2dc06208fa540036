// SPDX-License-Identifier: BSD-3-Clause
// SegmentedBlocks: which blocks of a rank's buffers go in segments, in a collective call that may: equal blocks one
// after the other, or the blocks of a v or w form, wherever they lie.
#pragma once

#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "plan/segments.hpp"
#include "transfer/cut_blocks.hpp"

namespace sluice::ops::coll {

// Without blocks: the rank has no such buffer. One thread at a time.
struct SegmentedBlocks {
  transfer::CutShape send;
  transfer::CutShape recv;

  // Finds those of `call`, a pattern that has segments, and how long their parts are by what `query` says (of unequal
  // blocks, by this rank's longest buffer alone, which goes into query->longest_bytes; other ranks can only make them
  // shorter). False: an argument is for the host MPI to refuse, or a block has gaps. May throw std::bad_alloc.
  [[nodiscard]] bool find(const Call &call, const Member &member, const Sides &sides, plan::SegmentQuery *query);
};

}  // namespace sluice::ops::coll
