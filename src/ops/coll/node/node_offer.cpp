// SPDX-License-Identifier: BSD-3-Clause
#include "ops/coll/node/node_offer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/statistics.hpp"
#include "device/ipc_exports.hpp"
#include "ops/coll/node/node_reduction.hpp"
#include "plan/block_form.hpp"
#include "plan/joint.hpp"
#include "plan/policy.hpp"
#include "transfer/laid_out.hpp"
#include "wire/channel.hpp"

namespace sluice::ops::coll {
namespace {

using transfer::Published;
using transfer::Region;
using transfer::StridedBlock;
using Content = CollectiveSide::Content;

plan::BlockLimits limits_of(const Region &region) {
  return {plan::policy_of(region.place.backend, region.place.device).pack, transfer::kMostRuns};
}

bool is_broadcast(const Call &call) noexcept {
  return call.pattern == Pattern::kBroadcast;
}

// Others reach the memory of the side, or what it can be copied to, if it `may_be_copied`; or it can be pulled into:
// memory of the device itself, or for those two shared memory too, and no addresses that may lead elsewhere.
bool is_reachable(const CollectiveSide &side, bool is_source, bool may_be_copied) {
  if (side.content() == Content::kNothing) return true;
  if (side.content() != Content::kDevice || side.is_absolute()) return false;
  const device::Place &place = side.place();
  const plan::Policy &policy = plan::policy_of(place.backend, place.device);
  const bool may_be_shared = !is_source || (may_be_copied && policy.allows_relay);
  const bool is_good_kind = place.kind == MemoryKind::kDevice || (may_be_shared && place.kind == MemoryKind::kShared);
  return is_good_kind && policy.allows_ipc;
}

const CollectiveSide &side_on_device(const Sides &sides) noexcept {
  return sides.send.content() == Content::kDevice ? sides.send : sides.recv;
}

bool can_take_part(const Call &call, const Member &member, const Sides &sides) {
  if (!sides_matter()) return false;  // nobody has looked at the buffers
  if (sides.overlap) return false;    // for the host MPI to refuse
  const bool is_alltoall_in_place = call.send.is_in_place() && call.pattern == Pattern::kAlltoall;
  if (is_alltoall_in_place) return false;  // what one rank is to read another would write over
  const bool is_in_place = call.send.is_in_place() || call.recv.is_in_place();
  if (is_in_place && is_of_neighbors(call.pattern)) return false;  // for the host MPI to refuse
  // What is only received into may be shared memory; a broadcast's root, and a rank in place, is read from there too.
  const bool is_allgather = call.pattern == Pattern::kAllgather;
  const bool reads_recv = is_broadcast(call) ? call.root == member.rank : is_allgather && call.send.is_in_place();
  const bool may_be_copied = !is_reduction(call.pattern);
  if (!is_reachable(sides.send, true, may_be_copied) || !is_reachable(sides.recv, reads_recv, may_be_copied)) {
    return false;
  }
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

const std::byte *lowest_of(const Region &block) noexcept {
  return transfer::at(block.origin, block.first_byte());
}

bool is_regular(const Region &block) {
  StridedBlock described;
  return transfer::describe(block, lowest_of(block), &described);
}

bool can_lay_out(const Region &block) {
  transfer::LaidOut laid_out;
  const Status status = transfer::lay_out(block, &laid_out);
  if (!status.is_ok()) log::debug("ops", status.message());
  return status.is_ok();
}

// The longest data that are copied into memory of Sluice's own because other processes cannot map theirs: what
// device::DeviceMemory keeps for the next call.
constexpr std::uint64_t kMostCopiedBytes = std::uint64_t{256} << 20;

void note_unpacked(const Status &why) {
  log::warn_once("coll_pack", "ops", why.message() + "; collective operations on such data are staged instead");
  statistics::record_fallback("coll_pack");
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
  if (!can_get_wanted(member) || !describe_offered(call, member, sides)) return {};
  std::uint64_t offered_bytes = 0;
  std::uint64_t wanted_bytes = 0;
  for (const Region &region : blocks.offered) offered_bytes += size_of(region);
  for (const NodeBlocks::Wanted &wanted : blocks.wanted) wanted_bytes += size_of(wanted.region);
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

const Region *NodeOffer::own_block(const NodeBlocks::Wanted &wanted) const noexcept {
  const std::size_t index = blocks.offered.size() == 1 ? 0 : static_cast<std::size_t>(wanted.block);
  return index < blocks.offered.size() ? &blocks.offered[index] : nullptr;
}

// Counts the runs that the rank gets its blocks in. False: of one they are too many to be copied one by one, and no
// kernel brings it there.
bool NodeOffer::can_get_wanted(const Member &member) {
  for (NodeBlocks::Wanted &wanted : blocks.wanted) {
    const Region &region = wanted.region;
    if (size_of(region) == 0) continue;
    wanted.n_runs = transfer::count_runs(region);
    plan::BlockQuery query{region.size_bytes(), wanted.n_runs, true};
    const Region *own = wanted.source == member.rank ? own_block(wanted) : nullptr;
    if (own != nullptr && size_of(*own) != 0) {
      query.is_regular = is_regular(*own);
      query.n_runs = std::max(query.n_runs, transfer::count_runs(*own));
    }
    if (query.is_regular && query.n_runs <= transfer::kMostRuns) continue;
    if (choose_taken_form(query, limits_of(region)).form == plan::BlockForm::kNeither || !can_lay_out(region) ||
        (own != nullptr && !can_lay_out(*own))) {
      return false;
    }
  }
  return true;
}

// A block that is for this rank alone goes from the one buffer to the other.
std::vector<Region> NodeOffer::offered_to_others(const Member &member) const {
  std::vector<Region> offered = blocks.offered;
  if (offered.size() == 1) return offered;
  for (const NodeBlocks::Wanted &wanted : blocks.wanted) {
    const auto index = static_cast<std::size_t>(wanted.block);
    if (wanted.source == member.rank && index < offered.size()) offered[index] = {};
  }
  return offered;
}

// What others may pull from here. False: this rank cannot say it.
bool NodeOffer::describe_offered(const Call &call, const Member &member, const Sides &sides) {
  const CollectiveSide &any = side_on_device(sides);
  if (any.content() != Content::kDevice) return true;
  if (!name_backend(sides)) return false;
  const std::vector<Region> offered = offered_to_others(member);
  const auto first =
      std::find_if(offered.begin(), offered.end(), [](const Region &region) { return size_of(region) != 0; });
  if (first == offered.end()) return true;
  if (!is_broadcast(call)) return export_offered(first->place, offered, true);
  const plan::Policy &policy = plan::policy_of(any.place().backend, any.place().device);
  const std::uint64_t chunk_bytes = plan::chain_block(size_of(*first), member.size, policy.coll_chain_block_bytes);
  const bool is_root = call.root == member.rank;
  if (is_root) published.chunk_bytes = chunk_bytes;
  const bool may_feed = chunk_bytes != 0 && first->place.kind == MemoryKind::kDevice;
  if (!is_root && (!may_feed || !first->layout->is_contiguous)) return true;  // nobody needs to reach it
  // What a rank feeds others from is what comes to it: no copy of what is there now.
  const bool is_exported = export_offered(first->place, offered, is_root);
  published.feeds = may_feed && is_exported && (first->layout->is_contiguous || packed != nullptr);
  return is_exported || !is_root;
}

bool NodeOffer::export_offered(const device::Place &place, const std::vector<Region> &offered, bool may_be_copied) {
  std::uint64_t size_bytes = 0;
  for (const Region &region : offered) size_bytes += size_of(region);
  for (const Region &region : offered) {
    if (size_of(region) == 0) continue;
    const plan::BlockQuery query{region.size_bytes(), transfer::count_runs(region), is_regular(region)};
    const plan::BlockPlan plan = choose_offered_form(query, limits_of(region));
    if (plan.form == plan::BlockForm::kRuns) continue;
    log::debug("plan", [&] { return "a block for others, " + explain(query, plan); });
    return plan.form == plan::BlockForm::kKernel && export_packed(place, offered);
  }
  if (place.kind == MemoryKind::kDevice && export_runs(place, offered)) return true;
  const bool may_copy = may_be_copied && plan::policy_of(place.backend, place.device).allows_relay;
  return may_copy && size_bytes <= kMostCopiedBytes && export_packed(place, offered);
}

bool NodeOffer::export_runs(const device::Place &place, const std::vector<Region> &offered) {
  transfer::StagedBlocks all;  // for the span alone
  std::vector<transfer::StagedBlock> with_bytes;
  for (const Region &region : offered) {
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
  std::vector<StridedBlock> found(offered.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (size_of(offered[i]) != 0 && !transfer::describe(offered[i], base, &found[i])) return false;
  }
  publish_exported(exported, base, std::move(found));
  return true;
}

// All of them go there, because what is published lies in one allocation.
bool NodeOffer::export_packed(const device::Place &place, const std::vector<Region> &offered) {
  auto made = std::make_unique<transfer::PackedBlocks>();
  if (Status status = made->open(place, offered); !status.is_ok()) {
    note_unpacked(status);
    return false;
  }
  packed = std::move(made);
  publish_exported(packed->exported(), packed->base(), packed->described());
  return true;
}

void NodeOffer::publish_exported(const device::Exported &exported, const std::byte *base,
                                 std::vector<StridedBlock> found) {
  described = std::move(found);
  published.n_blocks = static_cast<std::uint32_t>(described.size());
  published.handle = exported.handle;
  published.base_address = reinterpret_cast<std::uintptr_t>(base);
  published.allocation_bytes = exported.allocation_bytes;
}

Status NodeOffer::begin_packing() {
  if (packed == nullptr || published.state != Published::State::kTakesPart) return {};
  bool is_refused = false;
  Status status = packed->begin(&is_refused);
  if (!is_refused) return status;
  note_unpacked(status);
  packed.reset();
  described.clear();
  published = Published();
  return {};
}

}  // namespace sluice::ops::coll
