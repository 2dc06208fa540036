// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_pipeline.hpp"

#include <utility>

#include "base/log.hpp"
#include "base/statistics.hpp"
#include "ops/coll/node/reduction_work.hpp"
#include "plan/policy.hpp"

namespace sluice::ops::coll {
std::unique_ptr<transfer::ReductionPipeline> open_pipeline(const Call &call, const Member &member,
                                                           const device::Place &place, const ReductionPair &pair,
                                                           const ReductionInputs &inputs,
                                                           const transfer::ReductionStep &step) {
  const plan::ReductionMeansLimits limits = plan::reduction_means_limits_of(*place.backend, place.device);
  if (limits.engines_from_bytes == 0) return nullptr;
  plan::ReductionMeansQuery query{.input_bytes = inputs.count * inputs.element_bytes,
                                  .n_inputs = step.sources.size(),
                                  .n_elsewhere = inputs.n_elsewhere};
  query.delivery = delivery_of(call);
  query.has_gaps = inputs.has_gaps;
  const plan::ReductionMeansPlan plan = choose_reduction_means(query, limits, SLUICE_REDUCE_MAX_SOURCES);
  log_plan(call, [&] { return explain(query, plan); });
  if (plan.means == plan::ReductionMeans::kKernel) return nullptr;
  transfer::PipelinedReduction work;
  work.place = place;
  work.element = pair.element;
  work.operation = pair.operation;
  work.element_bytes = inputs.element_bytes;
  work.count = step.count;
  work.own = static_cast<std::size_t>(member.rank);
  work.sends_last = plan.sends_last;
  for (const void *source : step.sources) work.sources.push_back(static_cast<const std::byte *>(source));
  // A result of its own alone, or one for each rank, which is sent to the next one first: no two ranks write to the
  // same one at a time.
  const std::size_t n_results = step.dsts.size();
  work.own_result = static_cast<std::byte *>(step.dsts[n_results == 1 ? 0 : work.own]);
  for (std::size_t after = 1; after < n_results; ++after) {
    work.sent_results.push_back(static_cast<std::byte *>(step.dsts[(work.own + after) % n_results]));
  }
  auto pipeline = std::make_unique<transfer::ReductionPipeline>();
  const Status status = pipeline->open(std::move(work), limits.brought_bytes);
  if (status.is_ok()) return pipeline;
  log::warn_once("coll_reduce_engines", "ops", status.message() + "; kernels reduce across the devices instead");
  statistics::record_fallback("coll_reduce_engines");
  return nullptr;
}

}  // namespace sluice::ops::coll
