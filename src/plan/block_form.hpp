// SPDX-License-Identifier: BSD-3-Clause
// The choices of how a block with gaps comes from one rank of a node to another in a collective operation: what its
// sender tells the others of it, and what its receiver moves it with (docs/adr/0025). Pure, as plan.hpp. Each rank's
// own: the others see a block where it is published, and not what moves it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/packing.hpp"

namespace sluice::plan {

struct BlockQuery {
  std::uint64_t size_bytes = 0;  // of payload
  std::uint64_t n_runs = 0;      // that it lies in; of a receiver's, the more of both sides
  bool is_regular = true;        // runs of one length, at one distance: what others can be told of
};

struct BlockLimits {
  PackLimits pack;
  std::uint64_t most_runs = 0;  // of a block that is told of, or copied run by run
};

enum class BlockForm : std::uint8_t {
  kRuns,    // as it lies: the sender publishes its runs, the receiver makes a copy for each
  kKernel,  // the sender publishes what one kernel packed; the receiver has one kernel bring it in place
  kNeither  // the ranks stage
};

struct BlockPlan {
  BlockForm form = BlockForm::kNeither;
  std::string_view reason;
};

// What the sender publishes. Hot. What can be told costs it nothing: a receiver with a kernel gathers it as it lies.
[[nodiscard]] constexpr BlockPlan choose_offered_form(const BlockQuery &query, const BlockLimits &limits) noexcept {
  const bool can_tell = query.is_regular && query.n_runs <= limits.most_runs;
  if (can_tell) return {BlockForm::kRuns, "others can be told where it lies"};
  if (limits.pack.use == PackUse::kCopies)
    return {BlockForm::kNeither, "others cannot be told where it lies, and no kernel packs"};
  return {BlockForm::kKernel, "others cannot be told where it lies"};
}

// What the receiver moves it with. Hot.
[[nodiscard]] constexpr BlockPlan choose_taken_form(const BlockQuery &query, const BlockLimits &limits) noexcept {
  const bool can_copy = query.is_regular && query.n_runs <= limits.most_runs;
  if (limits.pack.use == PackUse::kCopies) {
    return can_copy ? BlockPlan{BlockForm::kRuns, "no kernel packs"}
                    : BlockPlan{BlockForm::kNeither, "too many or uneven runs for copies, and no kernel packs"};
  }
  if (!can_copy) return {BlockForm::kKernel, "too many or uneven runs for copies"};
  if (query.n_runs < 2) return {BlockForm::kRuns, "one run"};
  if (!may_pack(query.n_runs, limits.pack)) return {BlockForm::kRuns, "fewer runs than transfer_pack_from"};
  if (limits.pack.use == PackUse::kKernel) return {BlockForm::kKernel, "SLUICE_TRANSFER_PACK asks for it"};
  const RunSummary runs{query.size_bytes, query.n_runs};
  if (copies_us(runs, kLinkBytesPerUs, limits.pack) <= gather_us(runs, limits.pack)) {
    return {BlockForm::kRuns, "each run is long enough for a copy"};
  }
  return {BlockForm::kKernel, "one launch instead of a copy for each run"};
}

// One line for people: "1048576 bytes in 257 runs -> kernel: others cannot be told where it lies".
[[nodiscard]] std::string explain(const BlockQuery &query, const BlockPlan &plan);

}  // namespace sluice::plan
