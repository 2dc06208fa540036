// SPDX-License-Identifier: BSD-3-Clause
// What is believed of messages about messages: mutations of real ones, of which nothing that is believed may lead out
// of the memory that is there.
#include "transfer/descriptor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "plan/stream_channel.hpp"
#include "tests/support/mutator.hpp"

namespace sluice::transfer::descriptor_test {
namespace {

using tests::Mutator;

constexpr int kMutations = 10'000;
constexpr std::uint64_t kTrueBytes = 2 * kRelayBytes;  // of the sender's allocation, whatever it says
constexpr DescriptorFacts kFacts = {0x0123456789abcdefULL, 3, true, 8190};
// Wider than what is checked, so that nothing wraps here.
__extension__ using Wide = __int128;

Descriptor real_one(Route route, std::uint64_t size_bytes, std::uint64_t offset_bytes) {
  Descriptor made;
  made.nonce = kFacts.nonce;
  made.operation = 77;
  made.sender = kFacts.sender;
  made.number = 12;
  made.blocks = cut(Pipeline::kAuto, size_bytes, 4);
  made.address = 0x7f0000000000ULL + offset_bytes;
  made.offset_bytes = offset_bytes;
  made.allocation_bytes = kTrueBytes;
  made.route = route;
  std::memcpy(made.backend, "any", 3);
  for (std::size_t i = 0; i < sizeof made.handle.bytes; ++i) made.handle.bytes[i] = static_cast<std::uint8_t>(i * 7);
  return made;
}

Descriptor with_layout(std::uint64_t core_bytes, std::vector<sluice_dimension_t> dimensions,
                       std::uint64_t offset_bytes) {
  sluice_layout_t layout{};
  layout.core_bytes = core_bytes;
  layout.n_dimensions = static_cast<std::uint32_t>(dimensions.size());
  std::uint64_t size_bytes = core_bytes;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    layout.dimensions[d] = dimensions[d];
    size_bytes *= dimensions[d].count;
  }
  Descriptor made = real_one(Route::kIpc, size_bytes, offset_bytes);
  EXPECT_TRUE(encode(layout, &made.layout));
  return made;
}

std::vector<Descriptor> real_ones() {
  return {real_one(Route::kIpc, 1, 0),
          real_one(Route::kIpc, kTrueBytes, 0),
          real_one(Route::kIpc, 4096, kTrueBytes - 4096),
          real_one(Route::kPipelined, std::uint64_t{1} << 33U, 0),
          real_one(Route::kRelayed, std::uint64_t{1} << 33U, kTrueBytes - kRelayBytes),
          real_one(Route::kPipelined, 300'000, 64),
          real_one(Route::kDirect, 300'000, 64),
          with_layout(8, {{512, 1024}}, 256),
          with_layout(64, {{8, 65536}, {16, -512}}, 0),
          with_layout(4, {{3, 100'000}, {5, 1000}, {7, 8}}, 100)};
}

// The memory that a pull of this descriptor would read, from the mapping's first byte on: the lowest byte, and behind
// the highest.
struct Reads {
  Wide lowest = 0;
  Wide end = 0;
};
Reads reads_of(const Descriptor &descriptor) {
  const Wide from = descriptor.offset_bytes;
  sluice_layout_t layout;
  if (descriptor.route == Route::kRelayed) return {from, from + kRelayBytes};
  if (is_one_run(descriptor.layout)) return {from, from + descriptor.size_bytes()};
  EXPECT_TRUE(decode(descriptor.layout, &layout));
  Wide lowest = 0;
  Wide highest = layout.core_bytes;
  Wide payload = layout.core_bytes;
  for (std::uint32_t d = 0; d < layout.n_dimensions; ++d) {
    const Wide distance = (Wide{layout.dimensions[d].count} - 1) * layout.dimensions[d].stride_bytes;
    (distance < 0 ? lowest : highest) += distance;
    payload *= layout.dimensions[d].count;
  }
  EXPECT_TRUE(payload == descriptor.size_bytes());
  // The kernel's origin lies as far behind the lowest byte as the layout goes below it.
  Reach reach;
  EXPECT_TRUE(reach_of(layout, &reach));
  EXPECT_TRUE(Wide{reach.lowest_bytes} == lowest);
  return {from, from + highest - lowest};
}

// The blocks in which it would come into a receive with room for `room_bytes`.
void expect_sound_blocks(const BlockPlan &plan, std::uint64_t room_bytes) {
  const std::uint32_t n_wanted = plan.blocks_of(std::min(plan.size_bytes, room_bytes));
  ASSERT_LE(n_wanted, plan.n_blocks);
  ASSERT_GT(n_wanted, 0U);
  constexpr std::uint32_t kMostLooked = 50;  // from either end
  Wide at = 0;
  for (std::uint32_t block = 0; block < n_wanted; ++block) {
    if (block == kMostLooked && n_wanted > 2 * kMostLooked) {
      block = n_wanted - kMostLooked;
      at = plan.offset_bytes(block);
    }
    ASSERT_TRUE(plan.offset_bytes(block) == at) << block;
    ASSERT_LT(plan.offset_bytes(block), room_bytes) << block;
    ASSERT_GT(plan.block_bytes(block), 0U) << block;
    ASSERT_LE(plan.block_bytes(block), plan.largest_bytes()) << block;
    at += plan.block_bytes(block);
    ASSERT_TRUE(at <= plan.size_bytes) << block;
  }
  ASSERT_TRUE(at >= std::min(plan.size_bytes, room_bytes));
}

TEST(Descriptor, RealOnesAreBelieved) {
  for (const Descriptor &real : real_ones()) {
    DescriptorMessage message;
    write(real, &message);
    Descriptor read;
    ASSERT_TRUE(is_descriptor(message.bytes, kFacts.nonce, &read));
    const char *flaw = flaw_of(read, kFacts);
    EXPECT_EQ(flaw, nullptr) << flaw;
    EXPECT_FALSE(is_descriptor(message.bytes, kFacts.nonce + 1, &read)) << "of another job";
  }
}

TEST(Descriptor, EachFlawIsSeen) {
  const auto flaw = [](auto change, const DescriptorFacts &facts = kFacts) {
    Descriptor changed = real_one(Route::kIpc, 4096, 64);
    change(&changed);
    const char *found = flaw_of(changed, facts);
    return std::string(found == nullptr ? "" : found);
  };
  const auto nothing = [](Descriptor *) {};
  DescriptorFacts facts = kFacts;
  EXPECT_EQ(flaw(nothing), "");
  facts.sender = 4;
  EXPECT_EQ(flaw(nothing, facts), "it names another rank as its sender");
  facts.sender = -1;
  EXPECT_EQ(flaw(nothing, facts), "it names another rank as its sender");
  EXPECT_EQ(flaw([](Descriptor *d) { d->sender = -1; }, facts), "it names another rank as its sender");
  facts = kFacts;
  facts.is_local = false;
  EXPECT_EQ(flaw(nothing, facts), "it offers memory of another node");
  for (const int number : {0, -1, kFacts.most_number + 1, 0x7fffffff}) {
    EXPECT_EQ(flaw([&](Descriptor *d) { d->number = number; }), "its number has no tags") << number;
  }
  EXPECT_EQ(flaw([](Descriptor *d) { d->blocks.n_blocks = 0; }), "its blocks do not add up");
  EXPECT_EQ(flaw([](Descriptor *d) { d->route = static_cast<Route>(200); }), "its route is none");
  EXPECT_EQ(flaw([](Descriptor *d) { d->offset_bytes = kTrueBytes - 4095; }),
            "its payload does not lie in its allocation");
  const auto without_end = [](Descriptor *d) { std::memset(d->backend, 'A', sizeof d->backend); };
  EXPECT_EQ(flaw(without_end), "its backend has no name");
  EXPECT_EQ(flaw([&](Descriptor *d) {
              d->route = Route::kDirect;
              without_end(d);
            }),
            "its backend has no name");
  facts = kFacts;
  facts.is_local = false;
  EXPECT_EQ(flaw([](Descriptor *d) { d->route = Route::kDirect; }, facts), "") << "it is of another node";
}

// The importer's own word for the length of the mapping is kTrueBytes, as device::IpcImports compares it.
TEST(Descriptor, MutationsLeadNowhereElse) {
  Mutator mutator(20260601, kTrueBytes);
  const std::vector<Descriptor> reals = real_ones();
  int n_plain = 0;
  int n_flawed = 0;
  int n_refused = 0;
  int n_believed = 0;
  for (std::size_t i = 0; i < kMutations; ++i) {
    SCOPED_TRACE("mutation " + std::to_string(i));
    DescriptorMessage message;
    write(reals[i % reals.size()], &message);
    // Of most the magic and the nonce stay: else it is a message of the program's; and of half the handle, which is not
    // looked at here.
    const std::size_t begin = mutator.below(16) == 0 ? 0 : offsetof(Descriptor, operation);
    const std::size_t end = i / reals.size() % 2 == 0 ? offsetof(Descriptor, handle) : sizeof message.bytes;
    mutator.mutate(message.bytes, begin, end);
    Descriptor read;
    if (!is_descriptor(message.bytes, kFacts.nonce, &read)) {
      ++n_plain;
      continue;
    }
    if (flaw_of(read, kFacts) != nullptr) {
      ++n_flawed;
      continue;
    }
    ASSERT_EQ(read.sender, kFacts.sender);
    ASSERT_TRUE(read.number > 0 && read.number <= kFacts.most_number);
    for (const std::uint64_t room : {std::uint64_t{1}, std::uint64_t{4097}, kTrueBytes, std::uint64_t{1} << 40U}) {
      ASSERT_NO_FATAL_FAILURE(expect_sound_blocks(read.blocks, room)) << room;
    }
    // Only what is pulled leads into the sender's memory.
    const bool is_pulled = read.route == Route::kIpc || read.route == Route::kRelayed;
    if (is_pulled && read.allocation_bytes > kTrueBytes) {
      ++n_refused;
      continue;
    }
    ++n_believed;
    if (!is_pulled) continue;
    const Reads reads = reads_of(read);
    ASSERT_TRUE(reads.lowest >= 0 && reads.end <= Wide{kTrueBytes});
  }
  std::printf("%d mutations of descriptors: %d plain, %d flawed, %d longer than what is mapped, %d believed\n",
              kMutations, n_plain, n_flawed, n_refused, n_believed);
  EXPECT_GT(n_plain, kMutations / 200);
  EXPECT_GT(n_flawed, kMutations / 10);
  EXPECT_GT(n_refused, kMutations / 200);
  EXPECT_GT(n_believed, kMutations / 10);
}

TEST(Descriptor, MutationsOfAnswersAreOfOtherMessages) {
  Mutator mutator(20260602, kTrueBytes);
  const Descriptor own = real_one(Route::kPipelined, 300'000, 0);
  constexpr int kPeer = 5;
  const Control go = {Control::Kind::kGo, own.number, own.operation, own.blocks.n_blocks};
  const Acknowledgement end = {own.operation};
  ASSERT_TRUE(asks_for(go, kPeer, own, kPeer));
  ASSERT_TRUE(ends(end, own));
  int n_asks = 0;
  for (int i = 0; i < kMutations; ++i) {
    Control changed = go;
    mutator.mutate(reinterpret_cast<std::byte *>(&changed), 0, sizeof changed);
    const int from = i % 8 == 0 ? static_cast<int>(mutator.below(8)) : kPeer;
    if (asks_for(changed, from, own, kPeer)) {
      ++n_asks;
      ASSERT_EQ(from, kPeer);
      ASSERT_TRUE(changed.kind == go.kind && changed.operation == go.operation && changed.number == go.number);
      ASSERT_LE(changed.n_blocks, own.blocks.n_blocks);
    }
    Acknowledgement other = end;
    mutator.mutate(reinterpret_cast<std::byte *>(&other), 0, sizeof other);
    ASSERT_EQ(ends(other, own), other.operation == end.operation);
  }
  std::printf("%d mutations of GO, of which %d ask for the message all the same, and of ACK\n", kMutations, n_asks);
}

TEST(Descriptor, AnswersAboutSlotsAreThoseOfARelayedMessage) {
  Descriptor own = real_one(Route::kRelayed, 3 * kRelayBlockBytes + 1, 0);
  constexpr int kPeer = 5;
  Control control = {Control::Kind::kRelay, own.number, own.operation, 4};
  EXPECT_TRUE(asks_for(control, kPeer, own, kPeer));
  EXPECT_FALSE(asks_for(control, kPeer + 1, own, kPeer));
  control.n_blocks = 5;
  EXPECT_FALSE(asks_for(control, kPeer, own, kPeer)) << "more than there are";
  control.kind = Control::Kind::kTaken;
  EXPECT_TRUE(tells_taken(control, kPeer, own, kPeer));
  EXPECT_FALSE(asks_for(control, kPeer, own, kPeer));
  control = {Control::Kind::kRelay, own.number, own.operation, 1};
  own.route = Route::kIpc;
  EXPECT_FALSE(asks_for(control, kPeer, own, kPeer)) << "there are no slots";
}

TEST(Descriptor, AMessageIsAskedForDirectly_WhereItsRouteIsThat) {
  Descriptor own = real_one(Route::kDirect, 300'000, 0);
  constexpr int kPeer = 5;
  const Control direct = {Control::Kind::kDirect, own.number, own.operation, 0};
  EXPECT_TRUE(asks_for(direct, kPeer, own, kPeer));
  EXPECT_FALSE(asks_for(direct, kPeer + 1, own, kPeer));
  EXPECT_FALSE(asks_for({Control::Kind::kNotDirect, own.number, own.operation, 0}, kPeer, own, kPeer));
  EXPECT_TRUE(asks_for({Control::Kind::kGo, own.number, own.operation, 1}, kPeer, own, kPeer)) << "or in blocks";
  own.route = Route::kPipelined;
  EXPECT_FALSE(asks_for(direct, kPeer, own, kPeer));
}

TEST(Descriptor, ANoteIsBelievedOfTheBlockThatIsAwaited) {
  const RelayNote note = {77, 2, kRelaySlots - 1};
  EXPECT_TRUE(tells_of(note, sizeof note, 77, 2));
  EXPECT_FALSE(tells_of(note, sizeof note - 1, 77, 2));
  EXPECT_FALSE(tells_of(note, sizeof note, 78, 2));
  EXPECT_FALSE(tells_of(note, sizeof note, 77, 3));
  EXPECT_FALSE(tells_of({77, 2, kRelaySlots}, sizeof note, 77, 2));
  for (const std::uint64_t size_bytes :
       {std::uint64_t{1}, kRelayBlockBytes - 1, kRelayBlockBytes, 5 * kRelayBlockBytes + 1}) {
    std::uint64_t sum = 0;
    for (std::uint64_t block = 0; block < relay_blocks(size_bytes); ++block) {
      ASSERT_GT(relay_block_bytes(size_bytes, block), 0U);
      ASSERT_LE(relay_block_bytes(size_bytes, block), kRelayBlockBytes);
      sum += relay_block_bytes(size_bytes, block);
    }
    EXPECT_EQ(sum, size_bytes);
  }
}

// Claims about a channel's memory, and words that name a message in it.
TEST(Descriptor, MutationsOfChannelsLeadNowhereElse) {
  Mutator mutator(20260603, kTrueBytes);
  constexpr std::uint64_t kNumbers = 1U << 31U;
  constexpr plan::SlotClaim kReal = {1, {4096, 16}, false, 4096, kTrueBytes};
  int n_believed = 0;
  for (int i = 0; i < kMutations; ++i) {
    SCOPED_TRACE("mutation " + std::to_string(i));
    plan::SlotClaim claim = kReal;
    for (std::uint64_t n = 1 + mutator.below(3); n-- > 0;) {
      std::uint64_t *const fields[] = {&claim.first, &claim.sizes.unit_bytes, &claim.sizes.n_units, &claim.offset_bytes,
                                       &claim.allocation_bytes};
      *fields[mutator.below(std::size(fields))] = mutator.odd_number();
    }
    claim.is_in_host = mutator.below(4) == 0;
    if (!plan::is_sound(claim, kNumbers) || claim.allocation_bytes > kTrueBytes) continue;
    ++n_believed;
    const Wide end = Wide{claim.offset_bytes} + Wide{claim.sizes.n_units} * claim.sizes.unit_bytes;
    ASSERT_TRUE(end <= Wide{kTrueBytes});
    const std::uint64_t unit = mutator.below(256);
    const std::uint64_t length = mutator.below(1U << 24U);
    if (length == 0 || !plan::holds(claim.sizes, unit, length)) continue;
    ASSERT_TRUE(Wide{claim.offset_bytes} + Wide{unit} * claim.sizes.unit_bytes + length <= end);
  }
  std::printf("%d mutations of channels' claims, of which %d are believed\n", kMutations, n_believed);
  EXPECT_GT(n_believed, kMutations / 100);
}

}  // namespace
}  // namespace sluice::transfer::descriptor_test
