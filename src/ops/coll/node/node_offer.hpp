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

// This rank's vote before a call whose length differs among the ranks: whether it can take part, and whether its own
// part is long. A vote says less than an offer, and costs less. `classified` says how classifying `sides` went. Hot.
// Any thread.
[[nodiscard]] transfer::Vote vote_on(const Call &call, const Member &member, const Sides &sides,
                                     const Status &classified);

// One rank's part of one call. One thread at a time.
struct NodeOffer {
  NodeBlocks blocks;
  transfer::Published published;
  // One for each of blocks.offered, or none at all. A block that no other rank gets has 0 bytes.
  std::vector<transfer::StridedBlock> described;
  // The blocks, packed, if others cannot be told where these lie in the program's memory; else null.
  std::unique_ptr<transfer::PackedBlocks> packed;

  // Fills this in, and exports what others may read. `classified` says how classifying `sides` went, `pairing` which
  // neighbours exchange what. A rank that cannot take part is no error. Errors: memory that was freed; `published` then
  // says so, too. May throw std::bad_alloc.
  [[nodiscard]] Status fill(const Call &call, const Member &member, const Sides &sides, const Status &classified,
                            const EdgePairing &pairing);

  // Begins to pack, if anything is to be packed. The caller publishes only when that has ended (PackedBlocks::poll). A
  // rank that cannot pack, as it finds now, takes no part. Errors: those of the runtime.
  [[nodiscard]] Status begin_packing();

  // Of a block `wanted` that this rank gets from itself: where it lies in what the rank sends; null where there is
  // none.
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
