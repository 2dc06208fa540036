// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/differential.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace sluice::tests {
namespace {

// The same on every rank: made of what came out on all of them.
std::uint64_t digest_of_all(std::uint64_t mine) {
  const Session &session = Session::get();
  const std::string text = fmt::format("{}:{}", session.rank(), mine);
  std::uint64_t hash = hash_of(Bytes(text.begin(), text.end()));
  MPI_Allreduce(MPI_IN_PLACE, &hash, 1, MPI_UINT64_T, MPI_BXOR, session.comm());
  return hash;
}

}  // namespace

void compare_programs(int n_quick, int n_full, const ProgramRun &run) {
  const Session &session = Session::get();
  const Options &options = session.options();
  const int n_programs = options.n_programs > 0 ? options.n_programs : options.is_full ? n_full : n_quick;
  // Only tells Trial that this is no reference run.
  const Case kinds{session.kinds().back(), session.kinds().back(), 0};
  for (int i = 0; i < n_programs; ++i) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
    const std::string trace = fmt::format("repeat with: --gtest_filter=Differential.* --seed {} --programs 1{}", seed,
                                          options.wants_threads ? " --threads" : "");
    SCOPED_TRACE(trace);
    const std::uint64_t digest = compare_with_host(kinds, [&](Trial &trial) { run(trial, seed, trace); });
    if (session.agree_any(testing::Test::HasFailure())) {
      return;
    }
    if (options.prints_digests) {
      const std::uint64_t of_all = digest_of_all(digest);
      if (session.rank() == 0) {
        fmt::print("program {} {:016x}\n", seed, of_all);
        std::fflush(stdout);
      }
    }
  }
  if (session.rank() == 0) {
    fmt::print("{} programs from seed {}\n", n_programs, options.seed);
  }
}

}  // namespace sluice::tests
