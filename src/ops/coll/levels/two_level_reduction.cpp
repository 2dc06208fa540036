// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/levels/two_level_reduction.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "device/reduction.hpp"
#include "generated/operations.hpp"
#include "ops/coll/levels/level_slices.hpp"
#include "ops/coll/reduction/kernel_choice.hpp"
#include "wire/channel.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

using plan::LevelAbility;
using plan::Levels;

// MPI_Allreduce.

class TwoLevelReduction {
 public:
  TwoLevelReduction(const Call &call, const Member &member, const NodeLevels &levels, Levels form,
                    std::uint64_t element_bytes)
      : call_(call), levels_(levels), element_bytes_(element_bytes) {
    const NodeMap &map = levels.map();
    const auto rank = static_cast<std::size_t>(member.rank);
    n_lanes_ = form == Levels::kLeaders ? 1 : map.least_local;
    local_ = map.local[rank];
    n_local_ = static_cast<int>(std::count(map.node.begin(), map.node.end(), map.node[rank]));
  }

  // `count` elements from `first` on.
  [[nodiscard]] int run(std::int64_t first, std::int64_t count);

 private:
  [[nodiscard]] int reduce_on_node(const LevelSlices &slices, std::byte *in, std::byte *out) const;
  [[nodiscard]] int reduce_in_lane(const LevelSlices &slices, const std::byte *in, std::byte *out) const;
  [[nodiscard]] int share_on_node(const LevelSlices &slices, std::byte *out) const;

  [[nodiscard]] std::size_t own() const noexcept { return static_cast<std::size_t>(local_); }
  [[nodiscard]] std::uint64_t own_place(const LevelSlices &slices) const noexcept {
    return static_cast<std::uint64_t>(slices.places[own()]) * element_bytes_;
  }

  const Call &call_;
  const NodeLevels &levels_;
  const std::uint64_t element_bytes_;
  int n_lanes_ = 1;
  int local_ = 0;
  int n_local_ = 1;
};

int TwoLevelReduction::run(std::int64_t first, std::int64_t count) {
  const LevelSlices slices(static_cast<std::uint64_t>(count), element_bytes_, n_lanes_, n_local_);
  const auto offset = first * static_cast<std::int64_t>(element_bytes_);
  auto *const out = static_cast<std::byte *>(call_.recv.buffer) + offset;
  auto *const in = call_.send.is_in_place() ? out : static_cast<std::byte *>(call_.send.buffer) + offset;
  // A step that fails here does not end the call: the others wait in the next one.
  int first_error = MPI_SUCCESS;
  const auto note = [&first_error](int code) {
    if (first_error == MPI_SUCCESS) first_error = code;
  };
  if (n_local_ > 1) note(reduce_on_node(slices, in, out));
  if (slices.counts[own()] > 0) note(reduce_in_lane(slices, in, out));
  if (n_local_ > 1) note(share_on_node(slices, out));
  return first_error;
}

// Each rank of the node gets its slice, where it belongs: of a call in place over the same slice of its own input,
// which nobody else reads.
int TwoLevelReduction::reduce_on_node(const LevelSlices &slices, std::byte *in, std::byte *out) const {
  return ops::reduce_scatter(in, out + own_place(slices), slices.counts.data(), call_.recv.type, call_.op,
                             levels_.node());
}

int TwoLevelReduction::reduce_in_lane(const LevelSlices &slices, const std::byte *in, std::byte *out) const {
  Call part = call_;
  part.comm = levels_.lane();
  part.recv.buffer = out + own_place(slices);
  part.recv.count = slices.counts[own()];
  part.send.count = part.recv.count;
  if (n_local_ > 1 || in == out) {
    part.send.buffer = MPI_IN_PLACE;
  } else {
    part.send.set_buffer(in + own_place(slices));
  }
  part.may_be_cut = true;
  return allreduce(&part);
}

int TwoLevelReduction::share_on_node(const LevelSlices &slices, std::byte *out) const {
  return ops::allgatherv(MPI_IN_PLACE, 0, call_.recv.type, out, slices.counts.data(), slices.places.data(),
                         call_.recv.type, levels_.node());
}

// Device memory of Sluice's own that the call takes at this rank, in bytes.
std::uint64_t scratch_bytes_of(const Call &call, const Member &member, const NodeMap &map,
                               std::uint64_t element_bytes) {
  if (call.pattern == Pattern::kReduceScatter) return count_in_lane(call, member, map) * element_bytes;
  if (call.pattern != Pattern::kReduce || member.rank == call.root) return 0;
  return std::min(static_cast<std::uint64_t>(call.send.count) * element_bytes, kReduceScratchBytes);
}

bool take_scratch(const device::Place &place, std::uint64_t size_bytes, device::DeviceMemory *scratch) {
  if (size_bytes == 0) return true;
  if (place.backend->table().device_alloc == nullptr) return false;
  const Status status = scratch->acquire(place, size_bytes);
  if (!status.is_ok()) log::debug("ops", status.message());
  return status.is_ok();
}

// Whether the result, where this rank gets any, goes where a device can put it.
bool is_result_on_device(const Call &call, const Member &member, const CollectiveSide &recv) {
  using Content = CollectiveSide::Content;
  if (call.pattern == Pattern::kReduce && member.rank != call.root) return true;
  return recv.content() == Content::kDevice ||
         (call.pattern == Pattern::kReduceScatter && recv.content() == Content::kNothing);
}

// 0 for a type that the host MPI does not know.
std::uint64_t element_bytes_of(const Call &call, int *code) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  *code = wire::host().MPI_Type_get_extent(call.recv.type, &lower, &extent);
  return *code == MPI_SUCCESS && extent > 0 ? static_cast<std::uint64_t>(extent) : 0;
}

int allreduce_in_levels(const Call &call, const Member &member, const NodeLevels &levels, Levels form,
                        std::uint64_t element_bytes) {
  TwoLevelReduction reduction(call, member, levels, form, element_bytes);
  int first_error = MPI_SUCCESS;
  for (std::int64_t done = 0; done < call.recv.count; done += kMostLevelElements) {
    const int result = reduction.run(done, std::min<std::int64_t>(kMostLevelElements, call.recv.count - done));
    if (first_error == MPI_SUCCESS) first_error = result;
  }
  return first_error;
}

}  // namespace

LevelAbility reduction_level_ability(const Call &call, const Member &member, const NodeMap &map, const Sides &sides,
                                     const Status &classified, device::DeviceMemory *scratch) {
  const CollectiveSide &input = call.send.is_in_place() ? sides.recv : sides.send;
  if (!classified.is_ok() || input.content() != CollectiveSide::Content::kDevice ||
      !is_result_on_device(call, member, sides.recv)) {
    return LevelAbility::kNone;
  }
  ReductionPair pair{};
  const bool has_kernel =
      choose_kernel({&sides.send, &sides.recv}, call.recv.type, call.op, &pair).route == Route::kKernel &&
      device::has_kernel(input.place(), pair.element, pair.operation);
  if (!has_kernel) return LevelAbility::kNone;
  int code = MPI_SUCCESS;
  const std::uint64_t element_bytes = element_bytes_of(call, &code);
  if (element_bytes == 0) return LevelAbility::kNone;
  if (!take_scratch(input.place(), scratch_bytes_of(call, member, map, element_bytes), scratch)) {
    return LevelAbility::kNone;
  }
  return LevelAbility::kInSlices;
}

int reduce_in_levels(const Call &call, const Member &member, const NodeLevels &levels, Levels form,
                     const device::DeviceMemory &scratch) {
  int code = MPI_SUCCESS;
  const std::uint64_t element_bytes = element_bytes_of(call, &code);
  if (code != MPI_SUCCESS) return code;
  if (call.pattern == Pattern::kReduce) {
    return reduce_to_root_in_levels(call, member, levels, form, element_bytes, scratch.data());
  }
  if (call.pattern == Pattern::kReduceScatter) {
    return reduce_scatter_in_lanes(call, member, levels, element_bytes, scratch.data());
  }
  return allreduce_in_levels(call, member, levels, form, element_bytes);
}

}  // namespace sluice::ops::coll
