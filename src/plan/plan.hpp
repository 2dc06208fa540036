// SPDX-License-Identifier: BSD-3-Clause
// Plan: which route one side of an operation takes, and why. Pure: values in, a value out; no MPI, no GPU, no clock.
#pragma once

#include <cstdint>
#include <string>

#include "base/settings.hpp"
#include "base/types.hpp"
#include "plan/packing.hpp"

namespace sluice::plan {

// What the choice depends on besides the message; read from the knobs, the settings, the tuning tables and the backend.
struct Policy {
  StagingMemory staging_memory = StagingMemory::kMalloc;  // device_staging_memory, `auto` resolved
  bool allows_ipc = false;                                // SLUICE_P2P_IPC, and the backend has the group
  bool allows_relay = false;                              // besides, Sluice can have device memory of its own
  bool relays_pinned = false;                             // besides, the device copies without the CPU
  std::uint64_t ipc_threshold_bytes = default_number("p2p_ipc_threshold");
  std::uint64_t direct_threshold_bytes = default_number("p2p_direct_threshold");
  Pipeline pipeline = Pipeline::kNone;  // SLUICE_P2P_PIPELINE
  std::uint32_t pipeline_blocks = static_cast<std::uint32_t>(default_number("p2p_pipeline_blocks"));
  std::uint64_t pipeline_threshold_bytes = default_number("p2p_pipeline_threshold");
  std::uint64_t buffered_bytes = 0;  // SLUICE_P2P_BUFFERED_BYTES
  std::uint64_t coll_ipc_threshold_bytes = default_number("coll_ipc_threshold");
  std::uint64_t coll_reduce_threshold_bytes = default_number("coll_reduce_threshold");
  std::uint64_t coll_levels_threshold_bytes = default_number("coll_levels_threshold");
  std::uint64_t coll_segment_threshold_bytes = default_number("coll_segment_threshold");
  std::uint64_t coll_segment_bytes = default_number("coll_segment");
  std::uint64_t coll_chain_block_bytes = default_number("coll_chain_block");  // 0: chain_block()
  std::uint64_t coll_kernel_copy_bytes = default_number("coll_kernel_copy");
  PackLimits pack;  // SLUICE_TRANSFER_PACK and what it goes by
};

// A process that sends to itself before it receives gets away with it under every host MPI when the message is short;
// so it does here, whatever the policy says of others.
inline constexpr std::uint64_t kSelfBufferedBytes = 8192;

// From here on a message is relayed. Shorter ones are staged: two copies by devices and the words about them take
// longer.
inline constexpr std::uint64_t kRelayFromBytes = 64 << 10;

// The same for pinned host memory: of shorter messages the host MPI's two copies by the CPU are as quick.
inline constexpr std::uint64_t kRelayPinnedFromBytes = 512 << 10;

// Shorter receives are posted in staging memory: of them many are needed before it matters.
inline constexpr std::uint64_t kLongReceiveBytes = 64 << 10;

// What the other side of a message can do.
enum class Peer : std::uint8_t {
  kUnknown,    // carries no Sluice that we know of: plain messages alone
  kRemote,     // on another node: blocks
  kLocal,      // on this node: pulls from our memory, or blocks
  kLocalHost,  // on this node, and lately it could not pull, as a receiver into host memory cannot: blocks
  kSelf        // this process: copies
};

// One side of an operation.
struct Query {
  MemoryKind kind = MemoryKind::kHost;
  std::uint64_t size_bytes = 0;             // of payload
  bool is_contiguous = true;                // the payload is one run of bytes
  bool is_named_as_bytes = false;           // by us, for it is no run from the program's address on
  bool is_outgoing = false;                 // only sent from: nothing is received into this side
  std::uint64_t span_bytes = 0;             // from the payload's lowest byte to its highest; 0: too far apart to say
  Peer peer = Peer::kUnknown;               // of a side that is outgoing; a receiver learns the route from the message
  bool may_be_relied_on_to_buffer = false;  // a blocking send in standard mode
  std::uint64_t n_runs = 0;                 // of a payload that is not one: of how many, as long as a kernel knows them
  bool may_be_described = false;            // only received into, and the message may be a descriptor
  bool expects_staged = false;              // then: the last long one from that source was none
  // What is sent, as far as is known before it was tried: other processes can map the memory in which it lies, or into
  // which it is packed; else there is such memory of Sluice's own to copy it through.
  bool is_exportable = true;
  bool can_be_relayed = true;
  bool has_network = false;  // of what is sent to another node: a network library carries this memory (network/)
};

// Why a route was chosen; the sentence is in explain().
enum class Reason : std::uint8_t {
  kHostMemory,
  kNoBytes,
  kCpuMayTouch,
  kDeviceMemory,
  kSharedIsStaged,
  kBuffered,
  kPeerPulls,
  kNoHandle,
  kByDevice,
  kByNetwork,
  kLarge,
  kMessageDecides
};

// How the payload lies in staging memory.
enum class Form : std::uint8_t {
  kPlain,   // as in the program's buffer: one run
  kPacked,  // many pieces, one after the other; or what is received into one that does not begin at its address
  kImage    // many pieces, each as far from the others as in the program's buffer
};

struct Plan {
  Route route = Route::kHost;
  Reason reason = Reason::kHostMemory;
  StagingMemory staging_memory = StagingMemory::kMalloc;  // of a staged route
  Form form = Form::kPlain;                               // of a staged route
  bool packs = false;  // one kernel brings the runs of the payload together, or apart, instead of a copy for each
  // Of a described route: how the payload is cut where the receiver asks for blocks (transfer/blocks.hpp).
  Pipeline pipeline = Pipeline::kNone;
  // Of an undecided route: where the message comes to lie, descriptor or data. Here, where it makes a plan no longer:
  // plans are copied.
  StagingRoom room = StagingRoom::kPool;
  std::uint32_t pipeline_blocks = 1;
};

// An image costs the gaps, and lets the host MPI send by the program's own datatype; from MPICH 4.0 a packed message of
// more than one chunk cannot be received into a type with gaps (MPI_ERR_TRUNCATE, without Sluice too). Only what is
// sent can be one: bringing an image up would overwrite the gaps.
[[nodiscard]] constexpr Form form_of(const Query &query) noexcept {
  if (query.is_contiguous) return query.is_named_as_bytes && !query.is_outgoing ? Form::kPacked : Form::kPlain;
  const bool is_dense = query.span_bytes != 0 && query.span_bytes / 2 <= query.size_bytes;
  return query.is_outgoing && is_dense ? Form::kImage : Form::kPacked;
}

// A receive that a descriptor may come to takes staging memory only for data that come staged. A short one cannot wait
// for that; a long one is posted in address space, or, where staged data are expected, in memory that costs nobody
// else, which a device reaches faster.
[[nodiscard]] constexpr StagingRoom room_of(const Query &query) noexcept {
  if (query.size_bytes < kLongReceiveBytes) return StagingRoom::kPool;
  return query.expects_staged ? StagingRoom::kSpare : StagingRoom::kUntouched;
}

// The longest message that a blocking send in standard mode copies, so that it returns before its receive is posted.
[[nodiscard]] constexpr std::uint64_t buffered_bytes(Peer peer, const Policy &policy) noexcept {
  return peer == Peer::kSelf && policy.buffered_bytes < kSelfBufferedBytes ? kSelfBufferedBytes : policy.buffered_bytes;
}

// A message is sent as a descriptor. A short one that the receiver cannot pull comes in one block.
[[nodiscard]] constexpr Plan describe(Route route, Reason reason, bool packs, const Query &query,
                                      const Policy &policy) noexcept {
  Plan plan{route, reason, policy.staging_memory, Form::kPlain, packs};
  if (query.size_bytes >= policy.pipeline_threshold_bytes) {
    plan.pipeline = policy.pipeline;
    plan.pipeline_blocks = policy.pipeline_blocks;
  }
  return plan;
}

// A peer that pulls, and cannot map this memory, copies it out of memory of Sluice's own.
[[nodiscard]] constexpr bool may_relay(const Query &query, const Policy &policy) noexcept {
  return query.is_outgoing && query.peer == Peer::kLocal && query.is_contiguous && policy.allows_relay &&
         query.can_be_relayed;
}

// A message to another node that need not pass through the host.
[[nodiscard]] constexpr bool may_go_directly(const Query &query, const Policy &policy) noexcept {
  return query.peer == Peer::kRemote && query.has_network && query.kind == MemoryKind::kDevice &&
         query.size_bytes >= policy.direct_threshold_bytes;
}

// The route of device memory. What is received into learns it from the message. Of what is sent from, only one run of
// bytes can be pulled or cut, be it one that a kernel packs, and only a Sluice at the other end knows what to do with a
// descriptor.
[[nodiscard]] constexpr Plan choose_for_device(const Query &query, const Policy &policy) noexcept {
  const bool packs = !query.is_contiguous && can_pack(query.n_runs, policy.pack);
  Plan staged{Route::kStaged, Reason::kDeviceMemory, policy.staging_memory, form_of(query)};
  staged.packs = packs && staged.form == Form::kPacked && may_pack(query.n_runs, policy.pack);
  if (query.may_be_described) {
    staged.route = Route::kUndecided;
    staged.reason = Reason::kMessageDecides;
    staged.room = room_of(query);
    return staged;
  }
  if (!query.is_outgoing || !(query.is_contiguous || packs) || query.peer == Peer::kUnknown) return staged;
  if (query.may_be_relied_on_to_buffer && query.size_bytes <= buffered_bytes(query.peer, policy)) {
    staged.reason = Reason::kBuffered;
    return staged;
  }
  const bool is_reached = query.peer == Peer::kSelf || (query.peer == Peer::kLocal && query.is_exportable);
  if (query.kind == MemoryKind::kDevice && is_reached && policy.allows_ipc &&
      query.size_bytes >= policy.ipc_threshold_bytes) {
    return describe(Route::kIpc, Reason::kPeerPulls, packs, query, policy);
  }
  if (may_relay(query, policy) && query.size_bytes >= kRelayFromBytes) {
    return describe(Route::kRelayed, Reason::kNoHandle, packs, query, policy);
  }
  if (may_go_directly(query, policy)) return describe(Route::kDirect, Reason::kByNetwork, packs, query, policy);
  if (policy.pipeline != Pipeline::kNone && query.size_bytes >= policy.pipeline_threshold_bytes) {
    return describe(Route::kPipelined, Reason::kLarge, packs, query, policy);
  }
  return staged;
}

// The route of pinned host memory: the host MPI may touch it, and the device that it belongs to may be quicker.
[[nodiscard]] constexpr Plan choose_for_pinned(const Query &query, const Policy &policy) noexcept {
  const bool is_buffered = query.may_be_relied_on_to_buffer && query.size_bytes <= policy.buffered_bytes;
  if (policy.relays_pinned && may_relay(query, policy) && query.size_bytes >= kRelayPinnedFromBytes && !is_buffered) {
    return describe(Route::kRelayed, Reason::kByDevice, false, query, policy);
  }
  return {Route::kHost, Reason::kCpuMayTouch};
}

// The choice. Hot.
[[nodiscard]] constexpr Plan choose(const Query &query, const Policy &policy) noexcept {
  if (query.size_bytes == 0) return {Route::kHost, Reason::kNoBytes};
  switch (query.kind) {
    case MemoryKind::kHost:
      return {Route::kHost, Reason::kHostMemory};
    case MemoryKind::kPinned:
      return choose_for_pinned(query, policy);
    case MemoryKind::kShared: {
      Plan plan = choose_for_device(query, policy);
      if (plan.route == Route::kStaged) plan.reason = Reason::kSharedIsStaged;
      return plan;
    }
    case MemoryKind::kDevice:
      return choose_for_device(query, policy);
    case MemoryKind::kFreed:
      break;
  }
  return {Route::kStaged, Reason::kDeviceMemory, policy.staging_memory, form_of(query)};
}

// One line for people: "device 4096 bytes -> staged through runtime memory: the CPU may not touch device memory".
[[nodiscard]] std::string explain(const Query &query, const Plan &plan);

}  // namespace sluice::plan
