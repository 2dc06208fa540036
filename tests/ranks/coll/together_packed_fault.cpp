// SPDX-License-Identifier: BSD-3-Clause
// Blocks with gaps that are to be packed for the other ranks, where that cannot be done: nobody waits for ever, all
// ranks come to the same, and what comes is right. Started as together.cpp says, and with a fault in force on rank 1.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/ranks/coll/gapped.hpp"
#include "tests/ranks/coll/moving.hpp"

namespace sluice::tests::together_packed_fault_test {
namespace {

// An exchange of one element of a nested type between any two ranks, out of memory that is there from the first call
// on.
class NestedExchange {
 public:
  explicit NestedExchange(Kind kind)
      : blocks_(blocks_of(types_)),
        in_(Session::get().module(), kind, blocks_.size_bytes()),
        out_(Session::get().module(), kind, blocks_.size_bytes()) {}

  int carry_out(int round) const {
    in_.fill_pattern(Session::get().rank(), round);
    out_.fill(kPoison);
    const std::vector<int> places = blocks_.int_displacements();
    return MPI_Alltoallw(in_.data(), blocks_.counts().data(), places.data(), blocks_.types().data(), out_.data(),
                         blocks_.counts().data(), places.data(), blocks_.types().data(), Session::get().comm());
  }
  Bytes received() const { return out_.read(); }

 private:
  static PlacedBlocks blocks_of(const GappedTypes &types) {
    PlacedBlocks blocks;
    for (int i = 0; i < Session::get().size(); ++i) blocks.add(types.at(GappedTypes::kNested), 1);
    return blocks;
  }

  GappedTypes types_;
  PlacedBlocks blocks_;
  Memory in_;
  Memory out_;
};

using TogetherPackedFault = Together;

// What TEST_PACKED_FAULT says: all stage, each time (staged), or the first call is an error on all ranks (error).
TEST_F(TogetherPackedFault, IsSeenByAllAlike) {
  const char *const outcome = std::getenv("TEST_PACKED_FAULT");
  if (outcome == nullptr) GTEST_SKIP() << "started without a fault";
  const bool is_error = std::string(outcome) == "error";
  const NestedExchange on_device(Kind::device);
  const NestedExchange on_host(Kind::host);
  for (int round = 0; round < 3; ++round) {
    const long long by_ipc = calls_by("MPI_Alltoallw", "ipc");
    const int code = on_device.carry_out(round);
    if (is_error && round == 0) {
      EXPECT_NE(code, MPI_SUCCESS);
      continue;
    }
    ASSERT_EQ(code, MPI_SUCCESS);
    EXPECT_EQ(calls_by("MPI_Alltoallw", "ipc") - by_ipc, is_error ? 2 : 0);
    ASSERT_EQ(on_host.carry_out(round), MPI_SUCCESS);
    EXPECT_TRUE(on_device.received() == on_host.received()) << "round " << round;
  }
  if (const char *const reason = std::getenv("TEST_PACKED_FALLBACK"); reason != nullptr && session_.rank() == 1) {
    EXPECT_GT(fallbacks(reason), 0);
  }
}

// The runs of rank 0 lie in two allocations, which no kernel may read as one: it says so, and all stage.
TEST_F(Together, PackedBlocksAreStagedEverywhere_WhenNoKernelTakesThem) {
  constexpr int kRuns = 40;
  constexpr std::size_t kRunBytes = 24;
  const auto n_ranks = static_cast<std::size_t>(session_.size());
  const Memory first(session_.module(), Kind::device, 4096);
  const Memory second(session_.module(), Kind::device, 4096);
  const Memory out(session_.module(), Kind::device, n_ranks * kRuns * kRunBytes);
  first.fill_pattern(session_.rank(), 1);
  second.fill_pattern(session_.rank(), 2);
  const bool is_odd_one = session_.rank() == 0;
  // Absolute addresses: of a buffer, MPI allows one allocation alone.
  MPI_Aint begin[2] = {};
  MPI_Get_address(first.data(), &begin[0]);
  MPI_Get_address(second.data(), &begin[1]);
  std::vector<MPI_Aint> places;
  for (int i = 0; i < kRuns; ++i) places.push_back(begin[is_odd_one ? i % 2 : 0] + MPI_Aint{i} * 70 + i % 3);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_create_hindexed_block(kRuns, kRunBytes, places.data(), MPI_BYTE, &type), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
  const int root = session_.size() - 1;
  const int n_bytes = kRuns * static_cast<int>(kRunBytes);
  const long long by_ipc = calls_by("MPI_Allgather", "ipc") + calls_by("MPI_Gather", "ipc");
  ASSERT_GE(by_ipc, 0) << "no statistics";
  // All find out before they begin, rank 0 from its own block; and only when it begins to pack.
  for (const bool is_gather : {false, true}) {
    out.fill(kPoison);
    ASSERT_EQ(is_gather ? MPI_Gather(MPI_BOTTOM, 1, type, out.data(), n_bytes, MPI_BYTE, root, session_.comm())
                        : MPI_Allgather(MPI_BOTTOM, 1, type, out.data(), n_bytes, MPI_BYTE, session_.comm()),
              MPI_SUCCESS);
    if (is_gather && session_.rank() != root) continue;
    for (std::size_t rank = 0; rank < n_ranks; ++rank) {
      for (std::size_t i = 0; i < kRuns; ++i) {
        const Bytes run = out.read((rank * kRuns + i) * kRunBytes, kRunBytes);
        const int round = rank == 0 && i % 2 == 1 ? 2 : 1;
        ASSERT_EQ(find_pattern_error(run, static_cast<int>(rank), round, i * 70 + i % 3), "") << rank << ", run " << i;
      }
    }
  }
  EXPECT_EQ(calls_by("MPI_Allgather", "ipc") + calls_by("MPI_Gather", "ipc"), by_ipc);
  EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
}

}  // namespace
}  // namespace sluice::tests::together_packed_fault_test
