// SPDX-License-Identifier: BSD-3-Clause
// A rank's share of a reduction inside a node by copy engines and kernels that take turns (docs/adr/0024): whether it
// goes so, and its work as transfer/reduction_pipeline.hpp takes it. All of it: any thread.
#pragma once

#include <cstdint>
#include <memory>

#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/reduction/reduction_pair.hpp"
#include "plan/reduction_means.hpp"
#include "transfer/reduction_pipeline.hpp"
#include "transfer/reduction_steps.hpp"

namespace sluice::ops::coll {

// Whether it is worth while to ask, for `input_bytes` of each rank. Hot.
[[nodiscard]] constexpr bool may_have_pipeline(std::uint64_t input_bytes) noexcept {
  return input_bytes >= plan::kLeastForEngines;
}

struct ReductionInputs {
  std::uint64_t element_bytes = 0;
  std::uint64_t count = 0;      // elements of each
  std::size_t n_elsewhere = 0;  // so many may lie on another device than this rank's
  bool has_gaps = false;        // in its elements
};

// `step` is all that this rank of the call computes, on the device of `place`. Null where kernels do it alone: by the
// plan, or because there is no memory for blocks. May throw std::bad_alloc. Warm; takes device memory, and blocks as an
// allocation does.
[[nodiscard]] std::unique_ptr<transfer::ReductionPipeline> open_pipeline(const Call &call, const Member &member,
                                                                         const device::Place &place,
                                                                         const ReductionPair &pair,
                                                                         const ReductionInputs &inputs,
                                                                         const transfer::ReductionStep &step);

}  // namespace sluice::ops::coll
