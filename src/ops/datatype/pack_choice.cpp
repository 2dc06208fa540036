// SPDX-License-Identifier: BSD-3-Clause
#include "ops/datatype/pack_choice.hpp"

#include "base/log.hpp"
#include "plan/policy.hpp"
#include "transfer/packing.hpp"

namespace sluice::ops {

void choose_pack(plan::PackLeg leg, std::uint64_t n_runs, transfer::Region *region) {
  const transfer::Layout &layout = *region->layout;
  const plan::PackQuery query{
      {region->size_bytes(), n_runs, layout.shortest_bytes, layout.longest_bytes, region->span_bytes()},
      leg,
      region->place.kind};
  const plan::PackPlan plan = choose_packing(query, plan::policy_of(region->place.backend, region->place.device).pack);
  region->pack = plan.by_runs;
  region->is_one_copy = plan.means == PackMeans::kOneCopy;
  log::debug("plan", [&] { return explain(query, plan); });
}

bool can_pack(const transfer::Region &region) {
  return region.layout->packing != nullptr &&
         plan::can_pack(transfer::most_runs(*region.layout, region.count),
                        plan::policy_of(region.place.backend, region.place.device).pack);
}

}  // namespace sluice::ops
