// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/log.hpp"
#include "base/statistics.hpp"
#include "plan/policy.hpp"

namespace sluice::ops::coll {
namespace {

// Whether `dst` lies in this rank's own result; what was mapped of other ranks has addresses of its own.
bool is_own_result(const Call &call, std::uint64_t result_bytes, const void *dst) {
  const auto *first = static_cast<const std::byte *>(call.recv.buffer);
  const auto *at = static_cast<const std::byte *>(dst);
  return std::greater_equal<>()(at, first) && std::less<>()(at, first + result_bytes);
}

}  // namespace

std::unique_ptr<transfer::ReductionPipeline> open_pipeline(const Call &call, const Member &member,
                                                           const device::Place &place, const ReductionPair &pair,
                                                           const ReductionInputs &inputs,
                                                           const transfer::ReductionStep &step) {
  const plan::ReductionMeansLimits limits = plan::reduction_means_limits_of(*place.backend, place.device);
  if (limits.engines_from_bytes == 0) return nullptr;
  const std::uint64_t input_bytes = inputs.count * inputs.element_bytes;
  plan::ReductionMeansQuery query{
      .input_bytes = input_bytes, .n_inputs = step.sources.size(), .n_elsewhere = inputs.n_elsewhere};
  query.is_for_all = call.pattern == Pattern::kAllreduce;
  query.has_gaps = inputs.has_gaps;
  const plan::ReductionMeansPlan plan = choose_reduction_means(query, limits, SLUICE_REDUCE_MAX_SOURCES);
  if (log::level() >= log::Level::kDebug) {
    log::debug("plan", fmt::format("{}: {}", name(call.operation), explain(query, plan)));
  }
  if (plan.means == plan::ReductionMeans::kKernel) return nullptr;
  transfer::PipelinedReduction work;
  work.place = place;
  work.element = pair.element;
  work.operation = pair.operation;
  work.element_bytes = inputs.element_bytes;
  work.count = step.count;
  work.own = static_cast<std::size_t>(member.rank);
  for (const void *source : step.sources) work.sources.push_back(static_cast<const std::byte *>(source));
  for (void *dst : step.dsts) {
    auto *const result = static_cast<std::byte *>(dst);
    if (is_own_result(call, input_bytes, dst)) {
      work.own_result = result;
    } else {
      work.sent_results.push_back(result);
    }
  }
  auto pipeline = std::make_unique<transfer::ReductionPipeline>();
  const Status status = pipeline->open(std::move(work), limits.brought_bytes);
  if (status.is_ok()) return pipeline;
  log::warn_once("coll_reduce_engines", "ops", status.message() + "; kernels reduce across the devices instead");
  statistics::record_fallback("coll_reduce_engines");
  return nullptr;
}

}  // namespace sluice::ops::coll
