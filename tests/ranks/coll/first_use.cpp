// SPDX-License-Identifier: BSD-3-Clause
// Short reductions on a device that the program first used before MPI_Init or behind it: from which length on the ranks
// compute them on their devices is agreed on in MPI_Init, and comes from a table for any device, which the device's own
// table leaves in force. Started with such tables, and with --open-late or without.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/support/session.hpp"
#include "tests/support/statistics.hpp"

namespace sluice::tests::first_use_test {
namespace {

std::int32_t value_of(int rank, int position, int iteration) {
  return (rank * 131 + position * 7 + iteration * 13) % 1009 - 300;
}

TEST(FirstUse, ShortReductionsGoByKernels_FromTheFirstOneOn) {
  Session &session = Session::get();
  if (!session.has_kind(Kind::device)) GTEST_SKIP() << "missing: device memory";
  ASSERT_TRUE(count_statistics());
  int iteration = 0;
  for (const int count : {16, 37, 128, 512}) {
    SCOPED_TRACE(count);
    ++iteration;
    const std::size_t size_bytes = static_cast<std::size_t>(count) * sizeof(std::int32_t);
    const Memory in(session.module(), Kind::device, size_bytes);
    const Memory out(session.module(), Kind::device, size_bytes);
    std::vector<std::int32_t> own;
    std::vector<std::int32_t> sum(static_cast<std::size_t>(count), 0);
    for (int i = 0; i < count; ++i) {
      own.push_back(value_of(session.rank(), i, iteration));
      for (int rank = 0; rank < session.size(); ++rank)
        sum[static_cast<std::size_t>(i)] += value_of(rank, i, iteration);
    }
    in.write(0, own.data(), size_bytes);
    out.fill(0xA5);
    const long long before = calls_by("MPI_Allreduce", "kernel");
    ASSERT_EQ(MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, session.comm()), MPI_SUCCESS);
    EXPECT_GT(calls_by("MPI_Allreduce", "kernel"), before) << "it was staged";
    std::vector<std::int32_t> result(static_cast<std::size_t>(count));
    std::memcpy(result.data(), out.read().data(), size_bytes);
    EXPECT_EQ(result, sum);
  }
}

}  // namespace
}  // namespace sluice::tests::first_use_test
