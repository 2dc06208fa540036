// SPDX-License-Identifier: BSD-3-Clause
// The differential test: random programs, run on host copies and on random kinds of memory, must agree in every byte
// and status. --seed and --programs choose them; a failure prints the seed that repeats it. With --digests each program
// prints a number for all that came out, which must be the same under the host MPI alone (tools/differential).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/ranks/p2p/program_run.hpp"
#include "tests/ranks/p2p/random_program.hpp"
#include "tests/support/oracle.hpp"

namespace sluice::tests {
namespace {

// More than the buffered sends of one start need.
constexpr std::size_t kAttachedBytes = std::size_t{32} << 20U;

class Differential : public testing::Test {
 protected:
  void SetUp() override {
    for (LaneComms &lane : comms_) {
      for (MPI_Comm *comm : {&lane.posted, &lane.late}) {
        ASSERT_EQ(MPI_Comm_dup(session_.comm(), comm), MPI_SUCCESS);
      }
    }
    attached_ = std::make_unique<char[]>(kAttachedBytes);
    ASSERT_EQ(MPI_Buffer_attach(attached_.get(), static_cast<int>(kAttachedBytes)), MPI_SUCCESS);
  }

  void TearDown() override {
    void *detached = nullptr;
    int detached_bytes = 0;
    EXPECT_EQ(MPI_Buffer_detach(static_cast<void *>(&detached), &detached_bytes), MPI_SUCCESS);
    for (LaneComms &lane : comms_) {
      for (MPI_Comm *comm : {&lane.posted, &lane.late}) {
        EXPECT_EQ(MPI_Comm_free(comm), MPI_SUCCESS);
      }
    }
  }

  // The lanes side by side with --threads, else one after the other: with the same outcome.
  void run_program(Trial &run, const Program &program, const std::string &trace) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < program.lanes.size(); ++i) {
      const auto go = [this, &program, &trace, i, part = &run.part()] {
        const testing::ScopedTrace scoped(__FILE__, __LINE__, trace);
        run_lane(*part, program.lanes[i], static_cast<int>(i), comms_[i]);
      };
      if (session_.options().wants_threads) {
        threads.emplace_back(go);
      } else {
        go();
      }
    }
    for (std::thread &thread : threads) thread.join();
  }

  // The same on every rank: made of what came out on all of them.
  std::uint64_t digest_of_all(std::uint64_t mine) const {
    const std::string text = fmt::format("{}:{}", session_.rank(), mine);
    std::uint64_t hash = hash_of(Bytes(text.begin(), text.end()));
    MPI_Allreduce(MPI_IN_PLACE, &hash, 1, MPI_UINT64_T, MPI_BXOR, session_.comm());
    return hash;
  }

  const Session &session_ = Session::get();
  LaneComms comms_[kMostLanes];
  std::unique_ptr<char[]> attached_;
};

TEST_F(Differential, ProgramsAgreeWithTheirHostRun) {
  const Options &options = session_.options();
  const int n_programs = options.n_programs > 0 ? options.n_programs : options.is_full ? 2000 : 200;
  // Only tells Trial that this is no reference run.
  const Case kinds{session_.kinds().back(), session_.kinds().back(), 0};
  for (int i = 0; i < n_programs; ++i) {
    const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(i);
    const std::string trace = fmt::format("repeat with: --gtest_filter=Differential.* --seed {} --programs 1{}", seed,
                                          options.wants_threads ? " --threads" : "");
    SCOPED_TRACE(trace);
    const Program program = make_program(seed, session_.size(), session_.kinds());
    const std::uint64_t digest = compare_with_host(kinds, [&](Trial &run) { run_program(run, program, trace); });
    if (session_.agree_any(HasFailure())) {
      return;
    }
    if (options.prints_digests) {
      const std::uint64_t of_all = digest_of_all(digest);
      if (session_.rank() == 0) {
        fmt::print("program {} {:016x}\n", seed, of_all);
        std::fflush(stdout);
      }
    }
  }
  if (session_.rank() == 0) {
    fmt::print("{} programs from seed {}\n", n_programs, options.seed);
  }
}

}  // namespace
}  // namespace sluice::tests
