// SPDX-License-Identifier: BSD-3-Clause
// Data with gaps that is staged through host memory which no kernel reaches: kernels pack it into device memory of
// Sluice's own instead, piece by piece. Every byte is compared with the host MPI's own call on host copies. Started
// with a staging pool of no bytes, so that staging memory is C's, and with a fault in force that has kernels refuse
// that.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <vector>

#include "tests/ranks/coll/gapped.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::scratch_packing_test {
namespace {

constexpr int kTag = 5;
constexpr int kRunBytes = 72;
// A little more than is in scratch memory at the same time.
constexpr int kRuns = (33 << 20) / kRunBytes;

// Half of it gaps and more is packed by the staging; less is staged as an image.
MPI_Datatype runs(int n, int stride_bytes) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(n, kRunBytes, stride_bytes, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

class ScratchPacking : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TEST_SCRATCH_PACKING") == nullptr) GTEST_SKIP() << "started without the fault";
  }

  // Compares, and fails unless kernels were refused and others packed.
  static void compare(const std::function<void(Trial &)> &operation, long long least_launches) {
    const long long refused = fallbacks("pack_kernel");
    const long long launches = pack_launches();
    ASSERT_GE(refused, 0) << "no statistics";
    compare_with_host({Kind::device, Kind::device, 0}, operation);
    EXPECT_GT(fallbacks("pack_kernel"), refused);
    EXPECT_GE(pack_launches() - launches, least_launches);
  }

  // One element to each rank and from each, of unlike types.
  static void exchange(Trial &run, const GappedTypes &types, int turn) {
    const Session &session = Session::get();
    PlacedBlocks in;
    PlacedBlocks out;
    for (int peer = 0; peer < session.size(); ++peer) {
      in.add(types.at(session.rank() + peer + turn), 1);
      out.add(types.at(2 * session.rank() + peer + turn), 1);
    }
    const std::vector<int> sent_at = in.int_displacements();
    const std::vector<int> received_at = out.int_displacements();
    const Memory &input = run.input(in.size_bytes());
    const Memory &output = run.output(out.size_bytes());
    run.call("MPI_Alltoallw",
             MPI_Alltoallw(input.data(), in.counts().data(), sent_at.data(), in.types().data(), output.data(),
                           out.counts().data(), received_at.data(), out.types().data(), session.comm()));
  }

  const Session &session_ = Session::get();
};

TEST_F(ScratchPacking, BringsEveryByte_WhateverTheGaps) {
  const GappedTypes types;
  for (int turn = 0; turn < types.size(); ++turn) {
    compare([&](Trial &run) { exchange(run, types, turn); }, 1);
    if (session_.agree_any(HasFailure())) return;
  }
}

// Each way takes two pieces. What is only read and lies in one allocation comes down as an image in one copy; in place
// there is what is not read beside it.
TEST_F(ScratchPacking, BringsEveryByte_InSeveralPieces) {
  for (const int stride_bytes : {80, 160}) {
    MPI_Datatype type = runs(kRuns, stride_bytes);
    const auto span = static_cast<std::size_t>(kRuns) * static_cast<std::size_t>(stride_bytes);
    const bool is_root = session_.rank() == 0;
    compare(
        [&](Trial &run) {
          const Memory &memory = run.output(span);
          if (is_root) run.refill(memory, 0);
          run.call("MPI_Bcast", MPI_Bcast(memory.data(), 1, type, 0, session_.comm()));
          if (is_root)
            run.call("MPI_Recv", MPI_Recv(memory.data(), 1, type, 1, kTag, session_.comm(), MPI_STATUS_IGNORE));
          if (session_.rank() == 1) run.call("MPI_Send", MPI_Send(memory.data(), 1, type, 0, kTag, session_.comm()));
        },
        2);
    compare(
        [&](Trial &run) {
          const Memory &memory = run.output(span * static_cast<std::size_t>(session_.size()));
          run.refill(memory, 1);
          run.call("MPI_Allgather",
                   MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, memory.data(), 1, type, session_.comm()));
        },
        4);
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
    if (session_.agree_any(HasFailure())) return;
  }
}

}  // namespace
}  // namespace sluice::tests::scratch_packing_test
