// SPDX-License-Identifier: BSD-3-Clause
// How calls end whose ranks, which are threads, do not all go well: alike on all of them, with nothing written where
// nothing is moved, and the next call as if nothing had been.
#include <gtest/gtest.h>

#include <array>

#include "thread_ranks.hpp"

namespace sluice::tests::outcomes_test {
namespace {

using ops::coll::Call;
using ops::coll::NodeCall;
using ops::coll::Pattern;
using Outcome = NodeCall::Outcome;

constexpr std::size_t kBytes = 70000;
constexpr int kRanks = 4;

// What goes wrong, at rank 2.
enum class Trouble : std::uint8_t { kNone, kError, kHostMemory, kCopies };

struct Case {
  const char *name;
  Trouble trouble;
  Outcome outcome;          // of all ranks
  const char *own_text;     // in the failure of rank 2
  const char *others_text;  // in those of the others
};

void PrintTo(const Case &one, std::ostream *out) {
  *out << one.name;
}

class Outcomes : public testing::TestWithParam<Case> {
 protected:
  // An all-gather; returns what each rank's ended with.
  std::array<Ended, kRanks> carry_out(const ThreadRanks &ranks, Trouble trouble, int round) {
    std::array<Ended, kRanks> all;
    ranks.run([&](int rank) {
      const Trouble own = rank == 2 ? trouble : Trouble::kNone;
      const RankMemory send(kBytes, own == Trouble::kHostMemory ? RankMemory::Kind::kHost : RankMemory::Kind::kDevice);
      const RankMemory recv(kBytes * kRanks);
      send.write(bytes_of(rank, 0, kBytes, round));
      Call call;
      call.comm = MPI_COMM_WORLD;
      call.operation = Operation::kAllgather;
      call.pattern = Pattern::kAllgather;
      call.send.set_buffer(send.data());
      call.recv.set_buffer(recv.data());
      call.send.count = call.recv.count = kBytes;
      call.send.type = call.recv.type = MPI_BYTE;
      faults().fails_copies = own == Trouble::kCopies;
      const Status found =
          own == Trouble::kError ? Status::error(ErrorKind::kInvalidArgument, "planted here") : Status();
      all[static_cast<std::size_t>(rank)] = ranks.carry_out(rank, call, found);
      faults() = {};
      check(rank, recv, all[static_cast<std::size_t>(rank)].outcome, trouble, round);
    });
    return all;
  }

 private:
  static void check(int rank, const RankMemory &recv, Outcome outcome, Trouble trouble, int round) {
    const std::vector<std::byte> bytes = recv.read();
    if (outcome == Outcome::kDone) {
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        ASSERT_EQ(bytes[i], pattern_byte(static_cast<int>(i / kBytes), i % kBytes, round)) << "byte " << i;
      }
      return;
    }
    // Where the copies of one rank fail the others may have made theirs; and a rank may bring its own block at once.
    if (trouble == Trouble::kCopies) return;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (i / kBytes == static_cast<std::size_t>(rank)) continue;
      ASSERT_EQ(bytes[i], kPoison) << "rank " << rank << ", byte " << i;
    }
  }
};

TEST_P(Outcomes, AreTheSameOnAllRanks_AndTheNextCallIsGood) {
  const Case &one = GetParam();
  const ThreadRanks ranks(kRanks);
  int round = 0;
  for (const Trouble trouble : {one.trouble, one.trouble, Trouble::kNone, Trouble::kNone}) {
    const std::array<Ended, kRanks> all = carry_out(ranks, trouble, round++);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const bool is_good = trouble == Trouble::kNone;
      EXPECT_EQ(all[rank].outcome, is_good ? Outcome::kDone : one.outcome) << "rank " << rank << all[rank].failure;
      const std::string text = is_good ? "" : rank == 2 ? one.own_text : one.others_text;
      EXPECT_NE(all[rank].failure.find(text), std::string::npos) << "rank " << rank << ": " << all[rank].failure;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Troubles, Outcomes,
                         testing::Values(Case{"Error", Trouble::kError, Outcome::kFailed, "planted here", "rank 2"},
                                         Case{"HostMemory", Trouble::kHostMemory, Outcome::kStaged, "", ""},
                                         Case{"Copies", Trouble::kCopies, Outcome::kFailed, "copy", "rank 2"}),
                         [](const auto &tested) { return std::string(tested.param.name); });

// One rank gives less than the others take: nobody reads or writes beyond, and all hear the same.
TEST(OutcomesOfLengths, AreTheSameOnAllRanks) {
  const ThreadRanks ranks(3);
  std::array<Outcome, 3> all{};
  ranks.run([&](int rank) {
    const std::size_t own_bytes = rank == 1 ? kBytes / 2 : kBytes;
    const RankMemory memory(own_bytes);
    if (rank == 0) memory.write(bytes_of(0, 0, own_bytes, 0));
    Call call;
    call.comm = MPI_COMM_WORLD;
    call.operation = Operation::kBcast;
    call.pattern = Pattern::kBroadcast;
    call.recv.set_buffer(memory.data());
    call.recv.count = static_cast<MPI_Count>(own_bytes);
    call.recv.type = MPI_BYTE;
    all[static_cast<std::size_t>(rank)] = ranks.carry_out(rank, call).outcome;
  });
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
  EXPECT_NE(all[0], Outcome::kDone);
}

}  // namespace
}  // namespace sluice::tests::outcomes_test
