// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/reduction/kernel_choice.hpp"

#include <algorithm>

#include "base/knobs.hpp"
#include "device/reduction.hpp"

namespace sluice::ops::coll {
namespace {

plan::KernelUse kernel_use() {
  static const plan::KernelUse use = [] {
    const auto &names = plan::kKernelUseNames;
    const auto found = std::find(names.begin(), names.end(), Knobs::process().text("SLUICE_COLL_KERNEL"));
    return found == names.end() ? plan::KernelUse::kAuto : static_cast<plan::KernelUse>(found - names.begin());
  }();
  return use;
}

// The one device whose memory all buffers are; null when they are not.
const device::Place *common_place(std::initializer_list<const CollectiveSide *> sides) {
  using Content = CollectiveSide::Content;
  const device::Place *common = nullptr;
  for (const CollectiveSide *side : sides) {
    if (side->content() == Content::kNothing) continue;
    if (side->content() != Content::kDevice || side->is_absolute()) return nullptr;
    if (common != nullptr && (side->place().backend != common->backend || side->place().device != common->device)) {
      return nullptr;
    }
    common = &side->place();
  }
  return common;
}

}  // namespace

plan::ReductionPlan choose_kernel(std::initializer_list<const CollectiveSide *> sides, MPI_Datatype type, MPI_Op op,
                                  ReductionPair *pair) {
  plan::ReductionQuery query;
  const device::Place *place = common_place(sides);
  query.is_all_device = place != nullptr;
  if (query.is_all_device) {
    query.has_kernel =
        find_reduction_pair(type, op, pair) && device::can_reduce(*place, pair->element, pair->operation);
    const auto traits_of = place->backend->table().device_traits;
    query.copies_by_cpu = traits_of != nullptr && (traits_of(place->device) & SLUICE_DEVICE_COPIES_BY_CPU) != 0;
  }
  return plan::choose_reduction(query, kernel_use());
}

}  // namespace sluice::ops::coll
