// SPDX-License-Identifier: BSD-3-Clause
// ReductionWork: what one rank computes of a reduction that the ranks of a node carry out together
// (node_reduction.hpp): which elements of whose inputs, and where they go. Made from what all have published, and kept
// by ReductionMemo for the next call like it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/ipc_imports.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/node/node_reach.hpp"
#include "ops/coll/reduction/reduction_pair.hpp"
#include "plan/joint_reduction.hpp"
#include "transfer/board.hpp"
#include "transfer/reduction_steps.hpp"

namespace sluice::ops::coll {

// The most sources, and the most destinations, of one kernel.
inline constexpr std::size_t kMostOperands = SLUICE_REDUCE_MAX_SOURCES;

// Which ranks get what of the result. Pure.
[[nodiscard]] plan::Delivery delivery_of(const Call &call) noexcept;
// A pair as one number, never 0; and back. Pure.
[[nodiscard]] std::uint32_t packed(const ReductionPair &pair) noexcept;
[[nodiscard]] ReductionPair unpacked(std::uint32_t pair) noexcept;
// The elements of the block of MPI_Reduce_scatter's result that is the rank's of `member`. Pure.
[[nodiscard]] transfer::Share own_block(const Call &call, const Member &member) noexcept;

// Addresses are this process's.
struct ReductionWork {
  ReductionPair pair{};
  std::uint64_t element_bytes = 0;
  std::uint64_t count = 0;      // elements of each input
  std::size_t n_elsewhere = 0;  // inputs that may lie on another device than this rank's
  std::uint64_t bytes = 0;      // of input that this rank reads
  // MPI_Reduce_scatter in place: the block is computed where it lies, and moved to the front when nobody reads there.
  std::byte *block = nullptr;
  std::uint64_t block_bytes = 0;
  std::vector<transfer::ReductionStep> steps;
  std::vector<sluice_reduction_t> reductions;  // the steps, for a queue
};

// What a rank knows of the call when it makes its work.
struct ReductionTerms {
  const Call &call;
  const Member &member;
  const device::Place &place;  // of this rank's input
  std::uint64_t element_bytes;
  const transfer::Heard &heard;
  transfer::StridedBlock own_input;  // as this rank described it
  plan::JointReduction joint;
};

// Maps what the others published, which `reach` holds then. Errors: it cannot be reached; kBadPeer: it is none. May
// throw std::bad_alloc. Any thread, for a `reach` of its own.
[[nodiscard]] Status make_reduction_work(const ReductionTerms &terms, NodeReach *reach, ReductionWork *work);

// What was planned, and made of it.
struct PlannedReduction {
  plan::JointReductionPlan plan;
  ReductionWork work;
};
using PlannedReductionPtr = std::shared_ptr<const PlannedReduction>;

// The last reduction of a communicator: programs reduce the same buffers again and again. One thread at a time.
class ReductionMemo {
 public:
  // What was kept for a call that was like this one in all that its plan and work are made of, with what it reaches
  // held in *reach; null where it was not, or where a mapping is gone.
  [[nodiscard]] PlannedReductionPtr find(const Call &call, const device::Place &place, const transfer::Board &board,
                                         std::uint64_t number, NodeReach *reach) const;
  // Keeps it in the place of what was kept before. Mappings are not kept: who has them closes them when he has to.
  void keep(const Call &call, const device::Place &place, const transfer::Board &board, std::uint64_t number,
            const NodeReach &reach, PlannedReductionPtr planned);

 private:
  // Of the call, for what its ranks do not publish of it.
  struct Key {
    Pattern pattern = Pattern::kNone;
    int root = 0;
    const void *send = nullptr;
    const void *recv = nullptr;
    const device::Backend *backend = nullptr;
    std::int32_t device = -1;
    [[nodiscard]] bool operator==(const Key &) const noexcept = default;
  };
  [[nodiscard]] static Key key_of(const Call &call, const device::Place &place) noexcept;

  PlannedReductionPtr planned_;
  Key key_;
  std::vector<std::uint64_t> contents_;  // by rank: what it published, by its number on the board
  std::vector<std::weak_ptr<const device::Imported>> imported_;
};

}  // namespace sluice::ops::coll
