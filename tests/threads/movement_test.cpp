// SPDX-License-Identifier: BSD-3-Clause
// Whole collective calls of ranks that are threads: every byte of what each rank receives, in calls one after another
// and in several that are under way together; and the proof that a lost copy is seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "thread_ranks.hpp"

namespace sluice::tests::movement_test {
namespace {

using ops::coll::Call;
using ops::coll::NodeCall;
using ops::coll::Pattern;
using Outcome = NodeCall::Outcome;

constexpr std::size_t kGuardBytes = 64;

Call call_of(Pattern pattern, std::byte *send, std::byte *recv, std::size_t block_bytes) {
  Call call;
  call.comm = MPI_COMM_WORLD;
  call.pattern = pattern;
  call.operation = pattern == Pattern::kBroadcast   ? Operation::kBcast
                   : pattern == Pattern::kAllgather ? Operation::kAllgather
                                                    : Operation::kAlltoall;
  if (pattern != Pattern::kBroadcast) {
    call.send.set_buffer(send);
    call.send.count = static_cast<MPI_Count>(block_bytes);
    call.send.type = MPI_BYTE;
  }
  call.recv.set_buffer(recv);
  call.recv.count = static_cast<MPI_Count>(block_bytes);
  call.recv.type = MPI_BYTE;
  return call;
}

// The buffers of one rank in one call, what they hold before it, and what they have to hold behind it.
class Buffers {
 public:
  Buffers(const ThreadRanks &ranks, int rank, Pattern pattern, std::size_t block_bytes, int round)
      : pattern_(pattern),
        n_ranks_(static_cast<std::size_t>(ranks.size())),
        rank_(rank),
        block_bytes_(block_bytes),
        round_(round),
        send_(n_ranks_ * block_bytes + kGuardBytes),
        recv_(n_ranks_ * block_bytes + kGuardBytes) {
    if (pattern_ != Pattern::kBroadcast) send_.write(bytes_of(rank, 0, n_ranks_ * block_bytes, round));
    if (pattern_ == Pattern::kBroadcast && rank == 0) recv_.write(bytes_of(0, 0, block_bytes, round));
  }

  [[nodiscard]] Call call() const { return call_of(pattern_, send_.data(), recv_.data(), block_bytes_); }

  // "" or the first byte that is not as it should be.
  [[nodiscard]] std::string check() const {
    std::vector<std::byte> expected(n_ranks_ * block_bytes_ + kGuardBytes, kPoison);
    const auto put = [&](std::size_t block, int from, std::size_t first) {
      std::ranges::copy(bytes_of(from, first, block_bytes_, round_),
                        expected.begin() + static_cast<std::ptrdiff_t>(block * block_bytes_));
    };
    if (pattern_ == Pattern::kBroadcast) put(0, 0, 0);
    for (std::size_t from = 0; pattern_ != Pattern::kBroadcast && from < n_ranks_; ++from) {
      const bool is_alltoall = pattern_ == Pattern::kAlltoall;
      put(from, static_cast<int>(from), is_alltoall ? static_cast<std::size_t>(rank_) * block_bytes_ : 0);
    }
    const std::vector<std::byte> bytes = recv_.read();
    const auto [wrong, right] = std::ranges::mismatch(bytes, expected);
    if (wrong == bytes.end()) return "";
    return "rank " + std::to_string(rank_) + ", round " + std::to_string(round_) + ": byte " +
           std::to_string(wrong - bytes.begin());
  }

 private:
  Pattern pattern_;
  std::size_t n_ranks_;
  int rank_;
  std::size_t block_bytes_;
  int round_;
  RankMemory send_;
  RankMemory recv_;
};

std::string moved(const ThreadRanks &ranks, int rank, Pattern pattern, std::size_t block_bytes, int round) {
  const Buffers buffers(ranks, rank, pattern, block_bytes, round);
  const Ended ended = ranks.carry_out(rank, buffers.call());
  if (ended.outcome != Outcome::kDone)
    return "outcome " + std::to_string(static_cast<int>(ended.outcome)) + ended.failure;
  return buffers.check();
}

struct Shape {
  const char *name;
  Pattern pattern;
  int n_ranks;
};

void PrintTo(const Shape &shape, std::ostream *out) {
  *out << shape.name;
}

class Movement : public testing::TestWithParam<Shape> {};

TEST_P(Movement, DeliversAllBytes) {
  const Shape &shape = GetParam();
  const ThreadRanks ranks(shape.n_ranks);
  ranks.run([&](int rank) {
    int round = 0;
    for (const std::size_t block_bytes : {std::size_t{1}, std::size_t{777}, std::size_t{65536}, std::size_t{300001}}) {
      for (int repeated = 0; repeated < 3; ++repeated, ++round) {
        EXPECT_EQ(moved(ranks, rank, shape.pattern, block_bytes, round), "") << block_bytes << " bytes";
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, Movement,
    testing::Values(Shape{"BcastOf2", Pattern::kBroadcast, 2}, Shape{"AllgatherOf2", Pattern::kAllgather, 2},
                    Shape{"AlltoallOf2", Pattern::kAlltoall, 2}, Shape{"BcastOf3", Pattern::kBroadcast, 3},
                    Shape{"AllgatherOf3", Pattern::kAllgather, 3}, Shape{"AlltoallOf3", Pattern::kAlltoall, 3},
                    Shape{"BcastOf5", Pattern::kBroadcast, 5}, Shape{"AllgatherOf5", Pattern::kAllgather, 5},
                    Shape{"AlltoallOf5", Pattern::kAlltoall, 5}),
    [](const auto &tested) { return std::string(tested.param.name); });

// More calls than the board has slots for, and the program waits for the last one first.
TEST(MovementTogether, DeliversAllBytes_OfManyCallsUnderWay) {
  constexpr int kCalls = 3 * static_cast<int>(transfer::Board::kSlots) + 1;
  constexpr std::size_t kBlockBytes = 5000;
  const ThreadRanks ranks(3);
  ranks.run([&](int rank) {
    std::vector<std::unique_ptr<Buffers>> buffers;
    std::vector<Call> calls;
    for (int i = 0; i < kCalls; ++i) {
      const Pattern pattern = i % 2 == 0 ? Pattern::kAllgather : Pattern::kAlltoall;
      buffers.push_back(std::make_unique<Buffers>(ranks, rank, pattern, kBlockBytes, i));
      calls.push_back(buffers.back()->call());
    }
    const std::vector<Ended> ended = ranks.carry_out_together(rank, calls);
    for (std::size_t i = 0; i < ended.size(); ++i) {
      EXPECT_EQ(ended[i].outcome, Outcome::kDone) << ended[i].failure;
      EXPECT_EQ(buffers[i]->check(), "") << "call " << i;
    }
  });
}

TEST(MovementReductions, AreSums) {
  constexpr int kCount = 20001;
  const ThreadRanks ranks(4);
  ranks.run([&](int rank) {
    for (int round = 0; round < 3; ++round) {
      const RankMemory send(kCount * sizeof(int));
      const RankMemory recv(kCount * sizeof(int));
      std::vector<int> values(kCount);
      std::iota(values.begin(), values.end(), rank * 1000 + round);
      std::vector<std::byte> bytes(kCount * sizeof(int));
      std::memcpy(bytes.data(), values.data(), bytes.size());
      send.write(bytes);
      Call call = call_of(Pattern::kAllreduce, send.data(), recv.data(), kCount);
      call.operation = Operation::kAllreduce;
      call.send.type = call.recv.type = MPI_INT;
      call.op = MPI_SUM;
      const Ended ended = ranks.carry_out(rank, call);
      ASSERT_EQ(ended.outcome, Outcome::kDone) << ended.failure;
      const std::vector<std::byte> result = recv.read();
      std::memcpy(values.data(), result.data(), result.size());
      for (int i = 0; i < kCount; ++i) {
        ASSERT_EQ(values[static_cast<std::size_t>(i)], 4 * (i + round) + 6000) << "element " << i;
      }
    }
  });
}

// What the tests above would miss if they looked at nothing.
TEST(MovementChecker, SeesALostCopy) {
  const ThreadRanks ranks(3);
  ranks.run([&](int rank) {
    faults().loses_copies = rank == 1;
    const std::string seen = moved(ranks, rank, Pattern::kAllgather, 5000, 0);
    faults() = {};
    EXPECT_EQ(seen.empty(), rank != 1) << seen;
  });
}

}  // namespace
}  // namespace sluice::tests::movement_test
