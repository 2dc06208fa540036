// SPDX-License-Identifier: BSD-3-Clause
// A program under a profiling tool: a known number of sends from every kind of memory. The tool's own count is checked
// by the launcher (tests/tools/CMakeLists.txt).
#include <gtest/gtest.h>

#include "tests/support/oracle.hpp"

namespace sluice::tests {
namespace {

constexpr int kSends = 12;

TEST(ProfilingTool, SeesEverySend_AndChangesNothing) {
  const Session &session = Session::get();
  for (int i = 0; i < kSends; ++i) {
    const Kind kind = session.kinds()[static_cast<std::size_t>(i) % session.kinds().size()];
    const std::size_t size_bytes = i % 2 == 0 ? 100 : 70'000;
    const int count = static_cast<int>(size_bytes);
    const Memory in(session.module(), kind, size_bytes);
    const Memory out(session.module(), kind, size_bytes);
    in.fill_pattern(session.rank(), i);
    in_turn([&] { EXPECT_EQ(MPI_Send(in.data(), count, MPI_BYTE, session.partner(), 1, session.comm()), MPI_SUCCESS); },
            [&] {
              EXPECT_EQ(MPI_Recv(out.data(), count, MPI_BYTE, session.partner(), 1, session.comm(), MPI_STATUS_IGNORE),
                        MPI_SUCCESS);
            });
    EXPECT_EQ(find_pattern_error(out.read(), session.partner(), i), "");
  }
}

}  // namespace
}  // namespace sluice::tests
