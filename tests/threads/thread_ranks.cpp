// SPDX-License-Identifier: BSD-3-Clause
#include "thread_ranks.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "device/registry.hpp"
#include "ops/coll/call_facts.hpp"
#include "ops/coll/node/node_queue.hpp"

namespace sluice::tests {

using ops::coll::Access;
using ops::coll::Call;
using ops::coll::Member;
using ops::coll::NodeCall;
using ops::coll::NodeGroup;
using ops::coll::Pattern;
using ops::coll::Sides;
using ops::coll::Use;

namespace {

const sluice_backend_t &table() {
  return device::Registry::process().backends().front()->table();
}

// As the operations' own files do (src/ops/coll).
Status classify(const Call &call, const Member &member, Sides *sides) {
  if (call.pattern == Pattern::kBroadcast) {
    const bool is_root = call.root == member.rank;
    return sides->recv.classify(call.recv, 1, {is_root ? Access::kRead : Access::kWrite}, Use::kMoved);
  }
  const Use use = ops::coll::is_reduction(call.pattern) ? Use::kReduced : Use::kMoved;
  const int n_sent = call.pattern == Pattern::kAlltoall ? member.size : 1;
  const int n_received = call.pattern == Pattern::kAllreduce ? 1 : member.size;
  Status status = sides->send.classify(call.send, n_sent, {Access::kRead}, use);
  return status.is_ok() ? sides->recv.classify(call.recv, n_received, {Access::kWrite}, use) : status;
}

// A call of one rank with all that it refers to.
struct OwnPart {
  OwnPart(const Call &given, const Member &member, NodeGroup *group, const Status &found)
      : call(given), self(member), node_call(call, self, sides, group) {
    ops::coll::find_facts(&self, &call);
    const Status classified = classify(call, self, &sides);
    node_call.describe(found.is_ok() ? classified : found);
  }

  Call call;
  Member self;
  Sides sides;
  NodeCall node_call;
};

}  // namespace

RankMemory::RankMemory(std::size_t size_bytes, Kind kind) : size_bytes_(size_bytes) {
  if (kind == Kind::kHost) {
    host_.resize(size_bytes, kPoison);
    data_ = host_.data();
    return;
  }
  void *memory = nullptr;
  EXPECT_EQ(table().program_alloc(SLUICE_MEMORY_DEVICE, size_bytes, &memory), SLUICE_SUCCESS) << table().last_error();
  data_ = static_cast<std::byte *>(memory);
  write(std::vector<std::byte>(size_bytes, kPoison));
}

RankMemory::~RankMemory() {
  if (!host_.empty()) return;
  EXPECT_EQ(table().program_free(data_), SLUICE_SUCCESS) << table().last_error();
}

void RankMemory::write(const std::vector<std::byte> &bytes) const {
  ASSERT_LE(bytes.size(), size_bytes_);
  ASSERT_EQ(table().program_copy(data_, bytes.data(), bytes.size()), SLUICE_SUCCESS) << table().last_error();
}

std::vector<std::byte> RankMemory::read() const {
  std::vector<std::byte> bytes(size_bytes_);
  EXPECT_EQ(table().program_copy(bytes.data(), data_, size_bytes_), SLUICE_SUCCESS) << table().last_error();
  return bytes;
}

ThreadRanks::ThreadRanks(int n_ranks) : n_ranks_(n_ranks) {
  std::vector<wire::SharedSegment> segments(static_cast<std::size_t>(n_ranks));
  std::vector<int> world_ranks;
  wire::SegmentName name{};
  ops::coll::make_board(member(0), segments.data(), &name);
  for (int rank = 0; rank < n_ranks; ++rank) {
    EXPECT_TRUE(ops::coll::open_board(member(rank), name, &segments[static_cast<std::size_t>(rank)]));
    world_ranks.push_back(rank);
  }
  ops::coll::forget_board_name(member(0), name);
  for (int rank = 0; rank < n_ranks; ++rank) {
    groups_.push_back(
        std::make_unique<NodeGroup>(std::move(segments[static_cast<std::size_t>(rank)]), member(rank), world_ranks));
  }
}

Member ThreadRanks::member(int rank) const noexcept {
  Member self;
  self.rank = rank;
  self.size = n_ranks_;
  self.n_peers = n_ranks_;
  return self;
}

void ThreadRanks::run(const std::function<void(int rank)> &body) const {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n_ranks_; ++rank) threads.emplace_back(body, rank);
  for (std::thread &thread : threads) thread.join();
}

Ended ThreadRanks::carry_out(int rank, const Call &call, const Status &found) const {
  NodeGroup &group = *groups_[static_cast<std::size_t>(rank)];
  OwnPart part(call, member(rank), &group, found);
  group.queue().join(&part.node_call);
  while (group.queue().advance(part.node_call) == NodeCall::Outcome::kNone) std::this_thread::yield();
  group.queue().leave(part.node_call);
  return {part.node_call.outcome(), part.node_call.is_short(), part.node_call.failure().message()};
}

std::vector<Ended> ThreadRanks::carry_out_together(int rank, const std::vector<Call> &calls) const {
  NodeGroup &group = *groups_[static_cast<std::size_t>(rank)];
  std::vector<std::unique_ptr<OwnPart>> parts;
  for (const Call &call : calls) {
    parts.push_back(std::make_unique<OwnPart>(call, member(rank), &group, Status()));
    group.queue().join(&parts.back()->node_call);
  }
  std::vector<Ended> ended;
  // The last of them first: it waits for those before it, as a program may.
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    while (group.queue().advance((*part)->node_call) == NodeCall::Outcome::kNone) std::this_thread::yield();
  }
  for (const auto &part : parts) {
    group.queue().leave(part->node_call);
    ended.push_back({part->node_call.outcome(), part->node_call.is_short(), part->node_call.failure().message()});
  }
  return ended;
}

ThreadFaults &faults() {
  static const auto faults_of_this_thread = reinterpret_cast<FaultsOfThisThread>(
      dlsym(dlopen(THREADS_MODULE, RTLD_NOW | RTLD_NOLOAD), "faults_of_this_thread"));
  return *faults_of_this_thread();
}

std::byte pattern_byte(int rank, std::size_t position, int round) noexcept {
  return static_cast<std::byte>(
      (position * 7 + position / 251 + static_cast<std::size_t>(rank) * 61 + static_cast<std::size_t>(round) * 101) %
      241);
}

std::vector<std::byte> bytes_of(int rank, std::size_t first, std::size_t size_bytes, int round) {
  std::vector<std::byte> bytes(size_bytes);
  for (std::size_t i = 0; i < size_bytes; ++i) bytes[i] = pattern_byte(rank, first + i, round);
  return bytes;
}

}  // namespace sluice::tests
