// SPDX-License-Identifier: BSD-3-Clause
// The choice that the ranks of one node make together for a reduction. Pure: each rank computes it for itself from what
// all of them published, so all come to the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::plan {

// What one rank published.
struct ReductionOffer {
  bool is_failing = false;       // it has an error already
  bool can_take_part = false;    // its input, and where others put results, can be reached by all; it has the kernel
  bool is_in_place = false;      // its result goes where its input is
  std::string_view backend;      // whose memory
  std::uint32_t pair = 0;        // operation and type
  std::uint64_t size_bytes = 0;  // of its input
};

// Who gets what of the result; the same on all ranks.
enum class Delivery : std::uint8_t {
  kAllOfIt,      // every rank all of it: MPI_Allreduce
  kAllToOne,     // one rank all of it: MPI_Reduce
  kBlocks,       // every rank a block of it, computed in place where that block lies: MPI_Reduce_scatter
  kOfThoseBelow  // every rank that of the ranks up to it: MPI_Scan, MPI_Exscan
};

struct JointReductionQuery {
  Delivery delivery = Delivery::kAllOfIt;
  int root = 0;  // of kAllToOne
  std::uint64_t threshold_bytes = 0;
  std::uint32_t most_operands = 1;  // of one kernel
};

enum class JointReduction : std::uint8_t {
  kStaged,  // each for itself, through the host MPI
  kShares,  // the ranks compute a share of the elements each (share_of_rank), and put it wherever it is wanted
  kApart,   // each rank computes what it gets itself
  kFail     // all return an error
};

enum class ReductionReason : std::uint8_t {
  kRankFailed,
  kRankCannot,
  kTwoBackends,
  kDifferentInputs,
  kShort,
  kWouldOverwrite,
  kShared,
  kApart
};

struct JointReductionPlan {
  JointReduction joint = JointReduction::kStaged;
  ReductionReason reason = ReductionReason::kRankCannot;
  // A rank writes over inputs: all agree that they can before anyone begins, for it could not be done again.
  bool needs_consent = false;
};

// The choice for the ranks that made `offers`. Hot.
[[nodiscard]] JointReductionPlan choose_joint_reduction(std::span<const ReductionOffer> offers,
                                                        const JointReductionQuery &query) noexcept;

// Share `index` of `n_shares`.
struct ShareNumber {
  int index = 0;
  int n_shares = 1;
  friend constexpr bool operator==(const ShareNumber &, const ShareNumber &) = default;
};
// Which share of the elements a rank computes where the plan is kShares. None the root of kAllToOne: all results come
// over its link, as much as an input, and a share of its own would have its parts of the others' inputs come, too:
// 2 (n - 1) / n inputs in all (docs/adr/0024).
[[nodiscard]] constexpr std::optional<ShareNumber> share_of_rank(Delivery delivery, int root, int n_ranks,
                                                                 int rank) noexcept {
  if (delivery != Delivery::kAllToOne) return ShareNumber{rank, n_ranks};
  if (rank == root) return std::nullopt;
  return ShareNumber{(rank - root - 1 + n_ranks) % n_ranks, n_ranks - 1};
}

// One line for people: "4 ranks -> shares: each rank reduces a part and writes it to all that get it".
[[nodiscard]] std::string explain(std::size_t n_ranks, const JointReductionPlan &plan);

}  // namespace sluice::plan
