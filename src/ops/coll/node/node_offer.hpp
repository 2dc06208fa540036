// SPDX-License-Identifier: BSD-3-Clause
// NodeOffer: what a rank publishes of its buffers for a call that the ranks of a node look at together.
#pragma once

#include <memory>
#include <vector>

#include "ops/coll/call/member.hpp"
#include "ops/coll/call/sides.hpp"
#include "ops/coll/node/node_blocks.hpp"
#include "transfer/board.hpp"
#include "transfer/packed_blocks.hpp"
#include "transfer/strided.hpp"

namespace sluice::ops::coll {

// What this rank has to say before a call of which none knows how long it is for the others: less than what follows,
// and for less. `classified` says how classifying `sides` went. Hot.
[[nodiscard]] transfer::Vote vote_on(const Call &call, const Member &member, const Sides &sides,
                                     const Status &classified);

struct NodeOffer {
  NodeBlocks blocks;
  transfer::Published published;
  // Of blocks.offered, as many or none; of no bytes those that nobody else gets.
  std::vector<transfer::StridedBlock> described;
  // Where those lie of which others cannot be told where they are in the program's memory; else null.
  std::unique_ptr<transfer::PackedBlocks> packed;

  // Fills this in, exporting what others may read. `classified` says how classifying `sides` went. A rank that cannot
  // take part is no error; one whose memory was freed is, and then published says so too. May throw std::bad_alloc.
  // `pairing`: of neighbours.
  [[nodiscard]] Status fill(const Call &call, const Member &member, const Sides &sides, const Status &classified,
                            const EdgePairing &pairing);

  // Begins to pack, if that is to be done: it has ended before this is published (PackedBlocks::poll). A rank that
  // finds now that it cannot takes no part. Errors: those of the runtime.
  [[nodiscard]] Status begin_packing();

  // The block of this rank's own that `wanted`, which is from this rank, stands for; null: there is none.
  [[nodiscard]] const transfer::Region *own_block(const NodeBlocks::Wanted &wanted) const noexcept;

 private:
  [[nodiscard]] bool can_get_wanted(const Member &member);
  [[nodiscard]] std::vector<transfer::Region> offered_to_others(const Member &member) const;
  [[nodiscard]] bool describe_offered(const Call &call, const Member &member, const Sides &sides);
  [[nodiscard]] bool name_backend(const Sides &sides);
  [[nodiscard]] bool export_offered(const device::Place &place, const std::vector<transfer::Region> &offered,
                                    bool may_be_copied);
  [[nodiscard]] bool export_runs(const device::Place &place, const std::vector<transfer::Region> &offered);
  [[nodiscard]] bool export_packed(const device::Place &place, const std::vector<transfer::Region> &offered);
  void publish_exported(const device::Exported &exported, const std::byte *base,
                        std::vector<transfer::StridedBlock> found);
};

}  // namespace sluice::ops::coll
