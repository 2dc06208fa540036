// SPDX-License-Identifier: BSD-3-Clause
// NodeOffer: what a rank publishes of its buffers for a call that the ranks of a node look at together.
#pragma once

#include <vector>

#include "ops/coll/node_blocks.hpp"
#include "transfer/board.hpp"
#include "transfer/strided.hpp"

namespace sluice::ops::coll {

// What this rank has to say before a call of which none knows how long it is for the others: less than what follows,
// and for less. `classified` says how classifying `sides` went. Hot.
[[nodiscard]] transfer::Vote vote_on(const Call &call, const Member &member, const Sides &sides,
                                     const Status &classified);

struct NodeOffer {
  NodeBlocks blocks;
  transfer::Published published;
  std::vector<transfer::StridedBlock> described;  // of blocks.offered, as many or none

  // Fills this in, exporting what others may read. `classified` says how classifying `sides` went. A rank that cannot
  // take part is no error; one whose memory was freed is, and then published says so too. May throw std::bad_alloc.
  // `pairing`: of neighbours.
  [[nodiscard]] Status fill(const Call &call, const Member &member, const Sides &sides, const Status &classified,
                            const EdgePairing &pairing);

 private:
  [[nodiscard]] bool describe_offered(const Call &call, const Member &member, const Sides &sides);
  [[nodiscard]] bool name_backend(const Sides &sides);
  [[nodiscard]] bool export_offered(const device::Place &place);
};

}  // namespace sluice::ops::coll
