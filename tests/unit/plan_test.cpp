// SPDX-License-Identifier: BSD-3-Clause
// The choice of a route, for every kind of memory and every policy, and the words that explain it.
#include "plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/collective.hpp"

namespace sluice::plan::plan_test {
namespace {

Policy policy(StagingMemory memory) {
  Policy made;
  made.staging_memory = memory;
  return made;
}

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::array kKinds = {MemoryKind::kHost, MemoryKind::kPinned, MemoryKind::kDevice, MemoryKind::kShared,
                               MemoryKind::kFreed};
constexpr std::array kMemories = {StagingMemory::kMalloc, StagingMemory::kAligned, StagingMemory::kRuntime,
                                  StagingMemory::kRuntimeAligned};

// What must come out, written down a second time as a table: staged unless the CPU may touch the memory.
bool is_staged(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kHost:
    case MemoryKind::kPinned:
      return false;
    case MemoryKind::kShared:
    case MemoryKind::kDevice:
    case MemoryKind::kFreed:
      return true;
  }
  return false;
}

TEST(Plan_Choose, TakesTheRoute_ForEveryKindAndPolicy) {
  for (const MemoryKind kind : kKinds) {
    for (const StagingMemory memory : kMemories) {
      for (const bool is_contiguous : {false, true}) {
        for (const std::uint64_t size : {1ULL, 4096ULL, 1ULL << 40}) {
          const Plan plan = choose({kind, size, is_contiguous}, policy(memory));
          const bool staged = is_staged(kind);
          EXPECT_EQ(plan.route, staged ? Route::kStaged : Route::kHost) << name(kind);
          if (!staged) continue;
          EXPECT_EQ(plan.staging_memory, memory) << name(kind);
          EXPECT_EQ(plan.form, is_contiguous ? Form::kPlain : Form::kPacked) << name(kind);
        }
      }
    }
  }
}

// What may be described: sent from, one run of bytes, to a peer that carries Sluice.
Query sent_to(Peer peer, std::uint64_t size_bytes, MemoryKind kind = MemoryKind::kDevice) {
  Query query{kind, size_bytes, true};
  query.is_outgoing = true;
  query.peer = peer;
  return query;
}

Policy all_routes() {
  Policy policy;
  policy.allows_ipc = true;
  policy.pipeline = Pipeline::kEven;
  return policy;
}

TEST(Plan_Choose, LetsALocalPeerPull_FromTheThresholdOn) {
  EXPECT_EQ(choose(sent_to(Peer::kLocal, 1), all_routes()).route, Route::kIpc);
  EXPECT_EQ(choose(sent_to(Peer::kSelf, 1), all_routes()).route, Route::kIpc);
  Policy later = all_routes();
  later.ipc_threshold_bytes = 256;
  EXPECT_EQ(choose(sent_to(Peer::kLocal, 255), later).route, Route::kStaged);
  EXPECT_EQ(choose(sent_to(Peer::kLocal, 256), later).route, Route::kIpc);
  EXPECT_EQ(choose(sent_to(Peer::kLocal, 1 << 20), all_routes()).route, Route::kIpc);
  EXPECT_EQ(choose(sent_to(Peer::kLocal, 1 << 20, MemoryKind::kShared), all_routes()).route, Route::kPipelined);
}

TEST(Plan_Choose, RelaysWhatALocalPeerCannotMap) {
  Policy policy = all_routes();
  policy.allows_relay = true;
  const auto plan = [&](Peer peer, std::uint64_t size_bytes, MemoryKind kind, bool is_exportable) {
    Query query = sent_to(peer, size_bytes, kind);
    query.is_exportable = is_exportable;
    return choose(query, policy);
  };
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kShared}) {
    EXPECT_EQ(plan(Peer::kLocal, 65535, kind, false).route, Route::kStaged) << name(kind);
    EXPECT_EQ(plan(Peer::kLocal, 65536, kind, false).route, Route::kRelayed) << name(kind);
    EXPECT_EQ(plan(Peer::kLocal, 65536, kind, false).reason, Reason::kNoHandle) << name(kind);
    EXPECT_EQ(plan(Peer::kLocalHost, 65536, kind, false).route, Route::kPipelined) << name(kind);
    EXPECT_EQ(plan(Peer::kRemote, 65536, kind, false).route, Route::kPipelined) << name(kind);
  }
  EXPECT_EQ(plan(Peer::kLocal, 65536, MemoryKind::kDevice, true).route, Route::kIpc);
  EXPECT_EQ(plan(Peer::kSelf, 65536, MemoryKind::kDevice, false).route, Route::kIpc) << "nobody has to map it";
  Query query = sent_to(Peer::kLocal, 65536, MemoryKind::kShared);
  EXPECT_THAT(explain(query, choose(query, policy)), HasSubstr("shared 65536 bytes -> relayed: the receiver"));
  query.can_be_relayed = false;
  EXPECT_EQ(choose(query, policy).route, Route::kPipelined);
  query.can_be_relayed = true;
  query.is_contiguous = false;
  query.n_runs = 2;
  policy.pack = {PackUse::kKernel, 4};
  EXPECT_EQ(choose(query, policy).route, Route::kPipelined) << "it is packed into other memory";
}

TEST(Plan_Choose, GoesByTheNetwork_BetweenNodesAlone) {
  Policy policy = all_routes();
  Query query = sent_to(Peer::kRemote, policy.direct_threshold_bytes);
  EXPECT_EQ(choose(query, policy).route, Route::kPipelined) << "without a library";
  query.has_network = true;
  EXPECT_EQ(choose(query, policy).route, Route::kDirect);
  EXPECT_EQ(choose(query, policy).reason, Reason::kByNetwork);
  EXPECT_THAT(explain(query, choose(query, policy)), HasSubstr("device 65536 bytes -> direct: a network library"));
  for (const Peer peer : {Peer::kUnknown, Peer::kLocal, Peer::kLocalHost, Peer::kSelf}) {
    query.peer = peer;
    EXPECT_NE(choose(query, policy).route, Route::kDirect);
  }
  query.peer = Peer::kRemote;
  query.size_bytes -= 1;
  EXPECT_EQ(choose(query, policy).route, Route::kStaged);
  for (const MemoryKind kind : {MemoryKind::kHost, MemoryKind::kPinned, MemoryKind::kShared}) {
    query = sent_to(Peer::kRemote, 1 << 30, kind);
    query.has_network = true;
    EXPECT_NE(choose(query, policy).route, Route::kDirect) << name(kind);
  }
  query = sent_to(Peer::kRemote, 1 << 20);
  query.has_network = true;
  query.is_contiguous = false;
  query.n_runs = 2;
  EXPECT_EQ(choose(query, policy).route, Route::kStaged) << "nothing packs it";
  policy.pack = {PackUse::kKernel, 4};
  EXPECT_EQ(choose(query, policy).route, Route::kDirect) << "a kernel packs it";
  EXPECT_TRUE(choose(query, policy).packs);
  query.is_contiguous = true;
  policy.pipeline = Pipeline::kNone;
  EXPECT_EQ(choose(query, policy).route, Route::kDirect) << "blocks are not asked for";
  policy.buffered_bytes = 1 << 20;
  query.may_be_relied_on_to_buffer = true;
  EXPECT_EQ(choose(query, policy).route, Route::kStaged) << "the program may rely on buffering";
}

TEST(Plan_Choose, RelaysPinnedMemory_WhereItsDeviceIsQuickerThanTheCpu) {
  Policy policy = all_routes();
  policy.allows_relay = policy.relays_pinned = true;
  Query query = sent_to(Peer::kLocal, kRelayPinnedFromBytes, MemoryKind::kPinned);
  EXPECT_EQ(choose(query, policy).route, Route::kRelayed);
  EXPECT_THAT(explain(query, choose(query, policy)), HasSubstr("pinned 524288 bytes -> relayed: the receiver"));
  for (const Peer peer : {Peer::kUnknown, Peer::kRemote, Peer::kLocalHost, Peer::kSelf}) {
    EXPECT_EQ(choose(sent_to(peer, 1 << 30, MemoryKind::kPinned), policy).route, Route::kHost);
  }
  const auto is_host = [&](Query other, Policy with) { return choose(other, with).route == Route::kHost; };
  Query other = query;
  other.size_bytes = kRelayPinnedFromBytes - 1;
  EXPECT_TRUE(is_host(other, policy));
  other = query;
  other.is_contiguous = false;
  EXPECT_TRUE(is_host(other, policy));
  other = query;
  other.can_be_relayed = false;
  EXPECT_TRUE(is_host(other, policy)) << "no memory of Sluice's own";
  other = query;
  other.is_outgoing = false;
  EXPECT_TRUE(is_host(other, policy));
  Policy by_cpu = policy;
  by_cpu.relays_pinned = false;
  EXPECT_TRUE(is_host(query, by_cpu));
  policy.buffered_bytes = kRelayPinnedFromBytes;
  EXPECT_FALSE(is_host(query, policy));
  query.may_be_relied_on_to_buffer = true;
  EXPECT_TRUE(is_host(query, policy));
}

TEST(Plan_Choose, CopiesWhatABlockingSendMayBeReliedOnToBuffer) {
  const auto route = [](Peer peer, std::uint64_t size_bytes, bool is_standard, std::uint64_t buffered_bytes) {
    Query query = sent_to(peer, size_bytes);
    query.may_be_relied_on_to_buffer = is_standard;
    Policy policy = all_routes();
    policy.buffered_bytes = buffered_bytes;
    return choose(query, policy).route;
  };
  EXPECT_EQ(route(Peer::kLocal, 8, true, 0), Route::kIpc);
  EXPECT_EQ(route(Peer::kLocal, 100, true, 100), Route::kStaged);
  EXPECT_EQ(route(Peer::kLocal, 101, true, 100), Route::kIpc);
  EXPECT_EQ(route(Peer::kLocal, 100, false, 100), Route::kIpc) << "other modes may wait for the receiver";
  EXPECT_EQ(route(Peer::kRemote, 1 << 20, true, 1 << 20), Route::kStaged);
  EXPECT_EQ(route(Peer::kSelf, kSelfBufferedBytes, true, 0), Route::kStaged);
  EXPECT_EQ(route(Peer::kSelf, kSelfBufferedBytes + 1, true, 0), Route::kIpc);
  EXPECT_EQ(route(Peer::kSelf, kSelfBufferedBytes + 1, true, 1 << 20), Route::kStaged);
  EXPECT_EQ(route(Peer::kSelf, 8, false, 0), Route::kIpc);
}

TEST(Plan_Choose, OffersNothingToAReceiverThatCannotPull) {
  EXPECT_EQ(choose(sent_to(Peer::kLocalHost, 8), all_routes()).route, Route::kStaged);
  EXPECT_EQ(choose(sent_to(Peer::kLocalHost, 65536), all_routes()).route, Route::kPipelined);
}

TEST(Plan_Choose, CutsIntoBlocks_WhereNobodyCanPull) {
  EXPECT_EQ(choose(sent_to(Peer::kRemote, 65535), all_routes()).route, Route::kStaged);
  EXPECT_EQ(choose(sent_to(Peer::kRemote, 65536), all_routes()).route, Route::kPipelined);
  Policy no_ipc = all_routes();
  no_ipc.allows_ipc = false;
  EXPECT_EQ(choose(sent_to(Peer::kLocal, 65536), no_ipc).route, Route::kPipelined);
  no_ipc.pipeline = Pipeline::kNone;
  EXPECT_EQ(choose(sent_to(Peer::kLocal, 65536), no_ipc).route, Route::kStaged);
}

TEST(Plan_Choose, StagesWhatCannotBeDescribed) {
  EXPECT_EQ(choose(sent_to(Peer::kUnknown, 1 << 20), all_routes()).route, Route::kStaged);
  Query received = sent_to(Peer::kLocal, 1 << 20);
  received.is_outgoing = false;
  EXPECT_EQ(choose(received, all_routes()).route, Route::kStaged);
  Query gapped = sent_to(Peer::kLocal, 1 << 20);
  gapped.is_contiguous = false;
  EXPECT_EQ(choose(gapped, all_routes()).route, Route::kStaged);
  EXPECT_EQ(choose(sent_to(Peer::kLocal, 1 << 20, MemoryKind::kFreed), all_routes()).route, Route::kStaged);
  for (const MemoryKind kind : {MemoryKind::kHost, MemoryKind::kPinned}) {
    EXPECT_EQ(choose(sent_to(Peer::kLocal, 1 << 20, kind), all_routes()).route, Route::kHost);
  }
}

TEST(Plan_Choose, LeavesAReceiveUndecided_ThatADescriptorMayComeTo) {
  const auto plan = [](MemoryKind kind, std::uint64_t size_bytes, bool expects_staged) {
    Query query{kind, size_bytes, true};
    query.may_be_described = true;
    query.expects_staged = expects_staged;
    return choose(query, all_routes());
  };
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kShared}) {
    EXPECT_EQ(plan(kind, 8, false).route, Route::kUndecided) << name(kind);
    EXPECT_EQ(plan(kind, 8, false).reason, Reason::kMessageDecides) << name(kind);
    EXPECT_EQ(plan(kind, kLongReceiveBytes - 1, false).room, StagingRoom::kPool) << name(kind);
    EXPECT_EQ(plan(kind, kLongReceiveBytes, false).room, StagingRoom::kUntouched) << name(kind);
    EXPECT_EQ(plan(kind, kLongReceiveBytes, true).room, StagingRoom::kSpare) << name(kind);
  }
  EXPECT_EQ(plan(MemoryKind::kFreed, 8, false).route, Route::kStaged);
  EXPECT_EQ(plan(MemoryKind::kHost, 8, false).route, Route::kHost);
  EXPECT_EQ(plan(MemoryKind::kDevice, 0, false).route, Route::kHost);
}

TEST(Plan_Choose, SendsDensePiecesAsAnImage) {
  const auto form = [](bool is_outgoing, std::uint64_t span_bytes) {
    Query query{MemoryKind::kDevice, 100, false};
    query.is_outgoing = is_outgoing;
    query.span_bytes = span_bytes;
    return choose(query, {}).form;
  };
  EXPECT_EQ(form(true, 101), Form::kImage);
  EXPECT_EQ(form(true, 201), Form::kImage);
  EXPECT_EQ(form(true, 202), Form::kPacked) << "more gaps than payload";
  EXPECT_EQ(form(true, 0), Form::kPacked) << "a span that nobody knows";
  EXPECT_EQ(form(false, 101), Form::kPacked) << "bringing an image up would overwrite the gaps";
}

TEST(Plan_Choose, SendsByTheProgramsType_AndReceivesAsBytes_WhatIsOneRunElsewhere) {
  Query query = sent_to(Peer::kUnknown, 1 << 20, MemoryKind::kDevice);
  query.is_named_as_bytes = true;
  EXPECT_EQ(choose(query, all_routes()).form, Form::kPlain);
  query.is_outgoing = false;
  EXPECT_EQ(choose(query, all_routes()).form, Form::kPacked);
  query.is_outgoing = true;
  query.peer = Peer::kLocal;
  EXPECT_EQ(choose(query, all_routes()).route, Route::kIpc);
  EXPECT_FALSE(choose(query, all_routes()).packs);
}

TEST(Plan_Choose, PullsFewRuns_ForStagingIsTheOtherWay) {
  Query query = sent_to(Peer::kLocal, 1 << 20, MemoryKind::kDevice);
  query.is_contiguous = false;
  query.n_runs = 2;
  Policy policy = all_routes();
  policy.pack = {PackUse::kByModel, 4};
  EXPECT_EQ(choose(query, policy).route, Route::kIpc);
  EXPECT_TRUE(choose(query, policy).packs);
  query.peer = Peer::kUnknown;
  EXPECT_FALSE(choose(query, policy).packs) << "staged, a copy for each run";
  policy.pack = {PackUse::kCopies, 4};
  query.peer = Peer::kLocal;
  EXPECT_EQ(choose(query, policy).route, Route::kStaged) << "nothing brings them together";
}

TEST(Plan_Choose, LeavesEmptyMessagesToTheHost) {
  for (const MemoryKind kind : kKinds) {
    const Plan plan = choose({kind, 0, true}, {});
    EXPECT_EQ(plan.route, Route::kHost) << name(kind);
    EXPECT_EQ(plan.reason, Reason::kNoBytes) << name(kind);
  }
}

TEST(Plan_Choose, SaysWhy) {
  EXPECT_EQ(choose({MemoryKind::kHost, 8, true}, {}).reason, Reason::kHostMemory);
  EXPECT_EQ(choose({MemoryKind::kPinned, 8, true}, {}).reason, Reason::kCpuMayTouch);
  EXPECT_EQ(choose({MemoryKind::kDevice, 8, true}, {}).reason, Reason::kDeviceMemory);
  EXPECT_EQ(choose({MemoryKind::kShared, 8, true}, policy(StagingMemory::kMalloc)).reason, Reason::kSharedIsStaged);
}

TEST(Plan_Explain, NamesKindBytesRouteAndReason) {
  const Query query{MemoryKind::kDevice, 4096, true};
  EXPECT_EQ(explain(query, choose(query, policy(StagingMemory::kRuntime))),
            "device 4096 bytes -> staged through runtime memory: the CPU may not touch device memory");
  const Query packed{MemoryKind::kDevice, 12, false};
  EXPECT_EQ(explain(packed, choose(packed, policy(StagingMemory::kRuntimeAligned))),
            "device 12 bytes -> staged through runtime_aligned memory, packed: the CPU may not touch device memory");
  const Query host{MemoryKind::kHost, 7, true};
  EXPECT_EQ(explain(host, choose(host, {})), "host 7 bytes -> host: plain host memory goes to the host MPI as it is");
}

TEST(Plan_Explain, SaysWhereAnUndecidedReceiveIsPosted) {
  Query query{MemoryKind::kDevice, 1 << 20, true};
  query.may_be_described = true;
  EXPECT_EQ(explain(query, choose(query, {})),
            "device 1048576 bytes -> undecided, posted in address space: the message says whether its data are pulled "
            "or have come staged");
  query.expects_staged = true;
  EXPECT_THAT(explain(query, choose(query, {})), HasSubstr("undecided, posted in spare staging memory: "));
  query.is_contiguous = false;
  query.size_bytes = 8;
  EXPECT_THAT(explain(query, choose(query, {})), HasSubstr("undecided, posted in staging memory, packed: "));
}

TEST(Plan_Explain, HasWordsForEveryChoice) {
  for (const MemoryKind kind : kKinds) {
    for (const StagingMemory memory : kMemories) {
      for (const std::uint64_t size : {0ULL, 65ULL}) {
        const Query query{kind, size, true};
        const Plan plan = choose(query, policy(memory));
        const std::string text = explain(query, plan);
        EXPECT_TRUE(text.starts_with(std::string(name(kind)) + " " + std::to_string(size) + " bytes -> " +
                                     std::string(name(plan.route))))
            << text;
        EXPECT_THAT(text, Not(::testing::EndsWith(": "))) << "no reason";
        EXPECT_EQ(text.find('\n'), std::string::npos);
        EXPECT_EQ(text.find(" " + std::string(name(memory)) + " memory") != std::string::npos,
                  plan.route == Route::kStaged);
      }
    }
  }
}

TEST(Plan_Explain, SaysWhy_WhenSharedMemoryIsStaged) {
  const Query query{MemoryKind::kShared, 65, true};
  EXPECT_THAT(explain(query, choose(query, policy(StagingMemory::kMalloc))), HasSubstr("migrating pages"));
}

TEST(Plan_Collective, IsAnImage_WhereHalfOfItIsPayloadOrItIsReduced) {
  const auto form = [](std::uint64_t size, std::uint64_t span, bool keeps_type) {
    return choose_collective({MemoryKind::kDevice, size, span, keeps_type}, {}).form;
  };
  EXPECT_EQ(form(100, 100, false), Form::kImage);
  EXPECT_EQ(form(50, 100, false), Form::kImage);
  EXPECT_EQ(form(49, 100, false), Form::kPacked);
  EXPECT_EQ(form(49, 0, false), Form::kPacked);
  EXPECT_EQ(form(49, 100, true), Form::kImage);
  EXPECT_EQ(choose_collective({MemoryKind::kHost, 100, 100, false}, {}).route, Route::kHost);
  EXPECT_EQ(choose_collective({MemoryKind::kDevice, 0, 0, false}, {}).route, Route::kHost);
}

}  // namespace
}  // namespace sluice::plan::plan_test
