// SPDX-License-Identifier: BSD-3-Clause
// MPI_Reduce_scatter and MPI_Reduce_scatter_block of several nodes in two levels, on nodes with as many ranks each,
// numbered node by node: each rank of a node reduces, by kernel, its own block and those of its peers on the other
// nodes, into memory of Sluice's own; and the lane scatters them, staged in segments where they are of one length.
#include <algorithm>
#include <vector>

#include "generated/operations.hpp"
#include "ops/coll/call/call.hpp"
#include "ops/coll/call/member.hpp"
#include "ops/coll/levels/level_slices.hpp"
#include "ops/coll/levels/two_level_reduction.hpp"
#include "wire/host.hpp"

namespace sluice::ops::coll {
namespace {

// The lane's part for blocks of one length, which may go in segments.
int scatter_equal(const Call &call, std::byte *from, int count, MPI_Comm lane) {
  Call step = call;
  step.operation = Operation::kReduceScatterBlock;
  step.comm = lane;
  step.send.set_buffer(from);
  step.send.count = count;
  step.recv.counts = {};
  step.recv.count = count;
  step.may_be_cut = true;
  step.block = [](const Call &c) {
    return wire::host().MPI_Reduce_scatter_block(c.send.buffer, c.recv.buffer, c.recv.count_as<int>(), c.recv.type,
                                                 c.op, c.comm);
  };
  step.start = [](const Call &c, MPI_Request *request) {
    return wire::host().MPI_Ireduce_scatter_block(c.send.buffer, c.recv.buffer, c.recv.count_as<int>(), c.recv.type,
                                                  c.op, c.comm, request);
  };
  return reduce_scatter(&step);
}

}  // namespace

std::uint64_t count_in_lane(const Call &call, const Member &member, const NodeMap &map) noexcept {
  const int local = map.local[static_cast<std::size_t>(member.rank)];
  std::uint64_t count = 0;
  for (int rank = local; rank < member.size; rank += map.most_local) {
    count += static_cast<std::uint64_t>(call.recv.count_at(static_cast<std::size_t>(rank)));
  }
  return count;
}

int reduce_scatter_in_lanes(const Call &call, const Member &member, const NodeLevels &levels,
                            std::uint64_t element_bytes, std::byte *scratch) {
  const NodeMap &map = levels.map();
  const int local = map.local[static_cast<std::size_t>(member.rank)];
  auto *in = static_cast<std::byte *>(call.input().buffer);
  std::byte *out = scratch;
  std::vector<int> in_lane;
  // A step that fails here does not end the call: the others wait in the next one.
  int first_error = MPI_SUCCESS;
  const auto note = [&first_error](int code) {
    if (first_error == MPI_SUCCESS) first_error = code;
  };
  for (int first = 0; first < member.size; first += map.most_local) {
    std::vector<int> counts;
    std::int64_t all = 0;
    for (int rank = first; rank < first + map.most_local; ++rank) {
      counts.push_back(static_cast<int>(call.recv.count_at(static_cast<std::size_t>(rank))));
      all += counts.back();
    }
    if (all > 0) note(ops::reduce_scatter(in, out, counts.data(), call.recv.type, call.op, levels.node()));
    in_lane.push_back(counts[static_cast<std::size_t>(local)]);
    in += static_cast<std::uint64_t>(all) * element_bytes;
    out += static_cast<std::uint64_t>(in_lane.back()) * element_bytes;
  }
  // In place the result goes over an input that all have read by now.
  if (std::all_of(in_lane.begin(), in_lane.end(), [&](int count) { return count == in_lane.front(); })) {
    if (in_lane.front() > 0) note(scatter_equal(call, scratch, in_lane.front(), levels.lane()));
  } else {
    note(ops::reduce_scatter(scratch, call.recv.buffer, in_lane.data(), call.recv.type, call.op, levels.lane()));
  }
  return first_error;
}

}  // namespace sluice::ops::coll
