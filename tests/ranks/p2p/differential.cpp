// SPDX-License-Identifier: BSD-3-Clause
// Random point-to-point programs, compared with their runs on host copies (tests/support/differential.hpp).
#include "tests/support/differential.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/ranks/p2p/program_run.hpp"
#include "tests/ranks/p2p/random_program.hpp"

namespace sluice::tests::differential_test {
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

  const Session &session_ = Session::get();
  LaneComms comms_[kMostLanes];
  std::unique_ptr<char[]> attached_;
};

TEST_F(Differential, ProgramsAgreeWithTheirHostRun) {
  compare_programs(200, 2000, [this](Trial &run, std::uint64_t seed, const std::string &trace) {
    run_program(run, make_program(seed, session_.size(), session_.kinds()), trace);
  });
}

}  // namespace
}  // namespace sluice::tests::differential_test
