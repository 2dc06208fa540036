// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node_offer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/ipc_exports.hpp"
#include "ops/coll/node_reduction.hpp"
#include "plan/joint.hpp"
#include "plan/policy.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

using transfer::Published;
using transfer::Region;
using transfer::StridedBlock;
using Content = CollectiveSide::Content;

bool is_broadcast(const Call &call) noexcept {
  return call.pattern == Pattern::kBroadcast;
}

// Others reach the memory of the side, or it can be pulled into: memory of the device itself, or for a destination
// shared memory too, and no addresses that may lead elsewhere.
bool is_reachable(const CollectiveSide &side, bool is_source) {
  if (side.content() == Content::kNothing) return true;
  if (side.content() != Content::kDevice || side.is_absolute()) return false;
  const device::Place &place = side.place();
  const bool is_good_kind = place.kind == MemoryKind::kDevice || (!is_source && place.kind == MemoryKind::kShared);
  return is_good_kind && plan::policy_of(place.backend, place.device).allows_ipc;
}

const CollectiveSide &side_on_device(const Sides &sides) noexcept {
  return sides.send.content() == Content::kDevice ? sides.send : sides.recv;
}

bool can_take_part(const Call &call, const Member &member, const Sides &sides) {
  if (needs_no_sides()) return false;  // nobody looked at the buffers
  const bool is_alltoall_in_place = call.send.is_in_place() && call.pattern == Pattern::kAlltoall;
  if (is_alltoall_in_place) return false;  // what one rank is to read another would write over
  const bool is_in_place = call.send.is_in_place() || call.recv.is_in_place();
  if (is_in_place && is_of_neighbors(call.pattern)) return false;  // for the host MPI to refuse
  // What is only received into may be shared memory; a broadcast's root, and a rank in place, is read from there too.
  const bool is_allgather = call.pattern == Pattern::kAllgather;
  const bool reads_recv = is_broadcast(call) ? call.root == member.rank : is_allgather && call.send.is_in_place();
  if (!is_reachable(sides.send, true) || !is_reachable(sides.recv, reads_recv)) return false;
  const device::Backend *sent = sides.send.place().backend;
  const device::Backend *received = sides.recv.place().backend;
  return sent == nullptr || received == nullptr || sent == received;
}

// An error that a rank has before anything is done.
Status find_error(const Sides &sides, const Status &classified) {
  if (!classified.is_ok()) return classified;
  for (const CollectiveSide *side : {&sides.send, &sides.recv}) {
    if (Status status = transfer::refuse_freed(side->place(), side->span().lowest); !status.is_ok()) return status;
  }
  return {};
}

}  // namespace

transfer::Vote vote_on(const Call &call, const Member &member, const Sides &sides, const Status &classified) {
  using transfer::Vote;
  if (!find_error(sides, classified).is_ok()) return Vote::kFailed;
  if (!can_take_part(call, member, sides)) return Vote::kCannot;
  const std::uint64_t largest_bytes = std::max(sides.send.size_bytes(), sides.recv.size_bytes());
  return largest_bytes < wire::Channel::process().terms().threshold_bytes ? Vote::kShort : Vote::kLong;
}

Status NodeOffer::fill(const Call &call, const Member &member, const Sides &sides, const Status &classified,
                       const EdgePairing &pairing) {
  if (Status status = find_error(sides, classified); !status.is_ok()) return status;
  if (!can_take_part(call, member, sides) || !pairing.is_known) return {};
  if (is_reduction(call.pattern)) {
    described.resize(1);
    const bool is_described =
        name_backend(sides) && describe_reduction(call, member, sides, &published, &described.front());
    if (is_described) published.state = Published::State::kTakesPart;
    if (!is_described) described.clear();
    return {};
  }
  blocks = blocks_of(call, member, sides, pairing);
  if (blocks.offered.size() > transfer::Board::most_blocks(member.size)) return {};
  if (!describe_offered(call, member, sides)) return {};
  std::uint64_t offered_bytes = 0;
  std::uint64_t wanted_bytes = 0;
  for (const Region &region : blocks.offered) offered_bytes += size_of(region);
  for (const NodeBlocks::Wanted &wanted : blocks.wanted) {
    if (size_of(wanted.region) != 0 && transfer::count_runs(wanted.region) > transfer::kMostRuns) return {};
    wanted_bytes += size_of(wanted.region);
  }
  published.largest_bytes = std::max(offered_bytes, wanted_bytes);
  if (is_broadcast(call)) published.broadcast_bytes = offered_bytes;
  published.state = Published::State::kTakesPart;
  return {};
}

bool NodeOffer::name_backend(const Sides &sides) {
  const CollectiveSide &any = side_on_device(sides);
  const char *backend = any.content() == Content::kDevice ? any.place().backend->name() : "";
  if (std::strlen(backend) >= Published::kNameBytes) return false;
  std::strncpy(published.backend, backend, Published::kNameBytes - 1);
  return true;
}

// What others may pull from here. False: this rank cannot say it.
bool NodeOffer::describe_offered(const Call &call, const Member &member, const Sides &sides) {
  const CollectiveSide &any = side_on_device(sides);
  if (any.content() != Content::kDevice) return true;
  if (!name_backend(sides)) return false;
  const auto first = std::find_if(blocks.offered.begin(), blocks.offered.end(),
                                  [](const Region &region) { return size_of(region) != 0; });
  if (first == blocks.offered.end()) return true;
  if (!is_broadcast(call)) return export_offered(first->place);
  const std::uint64_t chunk_bytes = plan::policy_of(any.place().backend, any.place().device).coll_chain_block_bytes;
  if (call.root == member.rank) published.chunk_bytes = chunk_bytes;
  const bool may_feed = member.size > 2 && size_of(*first) / chunk_bytes >= plan::kFewestChunks &&
                        first->layout->is_contiguous && first->place.kind == MemoryKind::kDevice;
  if (call.root != member.rank && !may_feed) return true;  // nobody needs to reach it
  const bool is_exported = export_offered(first->place);
  published.feeds = may_feed && is_exported;
  return is_exported || call.root != member.rank;
}

bool NodeOffer::export_offered(const device::Place &place) {
  transfer::StagedBlocks all;  // for the span alone
  std::vector<transfer::StagedBlock> with_bytes;
  for (const Region &region : blocks.offered) {
    if (size_of(region) != 0) with_bytes.push_back({region, Access::kRead, nullptr});
  }
  all.set(place, std::move(with_bytes));
  const transfer::Span span = all.span();
  device::Exported exported;
  if (span.size_bytes == 0 ||
      !device::IpcExports::process().find(place, span.lowest, span.size_bytes, &exported).is_ok()) {
    return false;
  }
  const std::byte *base = span.lowest - exported.offset_bytes;
  std::vector<StridedBlock> found(blocks.offered.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (size_of(blocks.offered[i]) != 0 && !transfer::describe(blocks.offered[i], base, &found[i])) return false;
  }
  described = std::move(found);
  published.n_blocks = static_cast<std::uint32_t>(described.size());
  published.handle = exported.handle;
  published.base_address = reinterpret_cast<std::uintptr_t>(base);
  published.allocation_bytes = exported.allocation_bytes;
  return true;
}

}  // namespace sluice::ops::coll
