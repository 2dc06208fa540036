// SPDX-License-Identifier: BSD-3-Clause
// MPI_Reduce of several nodes in two levels: each rank of a node reduces a slice by kernel, into memory of Sluice's own
// but for the root, and brings it, staged in segments, to its lane on the root's node, where the root gathers.
#include <algorithm>

#include "generated/operations.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/levels/level_slices.hpp"
#include "ops/coll/levels/two_level_reduction.hpp"

namespace sluice::ops::coll {
namespace {

class TwoLevelReduce {
 public:
  TwoLevelReduce(const Call &call, const Member &member, const NodeLevels &levels, plan::Levels form,
                 std::uint64_t element_bytes, std::byte *scratch)
      : call_(call),
        levels_(levels),
        map_(levels.map()),
        element_bytes_(element_bytes),
        scratch_(scratch),
        local_(map_.local[static_cast<std::size_t>(member.rank)]),
        n_local_(static_cast<int>(
            std::count(map_.node.begin(), map_.node.end(), map_.node[static_cast<std::size_t>(member.rank)]))),
        n_lanes_(form == plan::Levels::kLeaders ? 1 : map_.least_local),
        root_node_(map_.node[static_cast<std::size_t>(call.root)]),
        is_root_(member.rank == call.root),
        is_on_root_node_(map_.node[static_cast<std::size_t>(member.rank)] == root_node_) {}

  // Elements that go through the levels at once: no slice is longer than the scratch memory.
  [[nodiscard]] std::int64_t part_count() const noexcept;
  // `count` elements from `first` on.
  [[nodiscard]] int run(std::int64_t first, std::int64_t count) const;

 private:
  // One part of the call, at this rank.
  struct Part {
    const LevelSlices &slices;
    std::byte *in;     // all of the rank's input
    std::byte *out;    // where all of the result goes, at the root
    std::byte *slice;  // where the rank's slice goes
  };
  [[nodiscard]] int reduce_in_lane(const Part &part) const;
  [[nodiscard]] int gather_on_node(const Part &part) const;
  [[nodiscard]] std::size_t own() const noexcept { return static_cast<std::size_t>(local_); }

  const Call &call_;
  const NodeLevels &levels_;
  const NodeMap &map_;
  const std::uint64_t element_bytes_;
  std::byte *const scratch_;  // null at the root
  const int local_;
  const int n_local_;
  const int n_lanes_;
  const int root_node_;
  const bool is_root_;
  const bool is_on_root_node_;
};

std::int64_t TwoLevelReduce::part_count() const noexcept {
  // Shares are cut at multiples of that many bytes (transfer/reduction_steps.hpp), which each part ends at too.
  constexpr std::uint64_t kUnitBytes = 512;
  const std::uint64_t unit = std::max<std::uint64_t>(1, kUnitBytes / element_bytes_);
  const std::uint64_t in_slice = kReduceScratchBytes / element_bytes_ / unit * unit;
  return std::min(static_cast<std::int64_t>(in_slice) * n_lanes_, kMostLevelElements);
}

int TwoLevelReduce::run(std::int64_t first, std::int64_t count) const {
  const LevelSlices slices(static_cast<std::uint64_t>(count), element_bytes_, n_lanes_, n_local_);
  const auto offset = first * static_cast<std::int64_t>(element_bytes_);
  auto *const out = is_root_ ? static_cast<std::byte *>(call_.recv.buffer) + offset : nullptr;
  auto *const in = call_.send.is_in_place() ? out : static_cast<std::byte *>(call_.send.buffer) + offset;
  const auto place = static_cast<std::int64_t>(slices.places[own()]) * static_cast<std::int64_t>(element_bytes_);
  const Part part{slices, in, out, is_root_ ? out + place : scratch_};
  // A step that fails here does not end the call: the others wait in the next one.
  int first_error = MPI_SUCCESS;
  const auto note = [&first_error](int code) {
    if (first_error == MPI_SUCCESS) first_error = code;
  };
  // At a root in place over the same slice of its own input, which nobody else reads.
  if (n_local_ > 1) {
    note(ops::reduce_scatter(in, part.slice, slices.counts.data(), call_.recv.type, call_.op, levels_.node()));
  }
  if (slices.counts[own()] > 0) note(reduce_in_lane(part));
  if (is_on_root_node_ && n_local_ > 1) note(gather_on_node(part));
  return first_error;
}

int TwoLevelReduce::reduce_in_lane(const Part &part) const {
  Call step = call_;
  step.comm = levels_.lane();
  step.root = map_.rank_in_lane(local_, root_node_);
  step.recv.count = part.slices.counts[own()];
  step.send.count = step.recv.count;
  // What the node has reduced; of a rank that is alone there its input.
  std::byte *const reduced = n_local_ > 1 ? part.slice : part.in;
  step.recv.buffer = is_on_root_node_ ? part.slice : nullptr;
  step.send.set_buffer(is_on_root_node_ && reduced == part.slice ? MPI_IN_PLACE : reduced);
  step.may_be_cut = true;
  return reduce(&step);
}

int TwoLevelReduce::gather_on_node(const Part &part) const {
  const int root = map_.local[static_cast<std::size_t>(call_.root)];
  // The root has all of it already, which the others see too.
  if (n_lanes_ == 1 && root == 0) return MPI_SUCCESS;
  const void *const from = is_root_ ? MPI_IN_PLACE : part.slice;
  return ops::gatherv(from, part.slices.counts[own()], call_.recv.type, part.out, part.slices.counts.data(),
                      part.slices.places.data(), call_.recv.type, root, levels_.node());
}

}  // namespace

int reduce_to_root_in_levels(const Call &call, const Member &member, const NodeLevels &levels, plan::Levels form,
                             std::uint64_t element_bytes, std::byte *scratch) {
  const TwoLevelReduce reduction(call, member, levels, form, element_bytes, scratch);
  const std::int64_t part_count = reduction.part_count();
  int first_error = MPI_SUCCESS;
  for (std::int64_t done = 0; done < call.recv.count; done += part_count) {
    const int result = reduction.run(done, std::min<std::int64_t>(part_count, call.recv.count - done));
    if (first_error == MPI_SUCCESS) first_error = result;
  }
  return first_error;
}

}  // namespace sluice::ops::coll
