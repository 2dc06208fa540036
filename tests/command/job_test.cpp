// SPDX-License-Identifier: BSD-3-Clause
// What the doctor says of processes that are made up.
#include "command/job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::command::job_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobProcess rank_of(int rank, std::vector<SeenWait> waits = {}) {
  JobProcess process;
  process.pid = 100 + rank;
  process.standing = JobProcess::Standing::kTable;
  process.state = 'S';
  process.table = {.pid = process.pid, .rank = rank, .size = 4, .waits = std::move(waits)};
  return process;
}

SeenWait receive(int peer) {
  SeenWait seen;
  seen.function = "MPI_Recv";
  seen.communicator = "MPI_COMM_WORLD";
  seen.wait.direction = waiting::Direction::kReceives;
  seen.wait.peer = peer;
  seen.wait.world_peer = peer;
  seen.wait.tag = 7;
  return seen;
}

SeenWait barrier() {
  SeenWait seen;
  seen.function = "MPI_Barrier";
  seen.communicator = "MPI_COMM_WORLD";
  return seen;
}

TEST(JobTest, SaysWhatThePeerOfAWaitDoes) {
  EXPECT_THAT(conclude({rank_of(1, {barrier()}), rank_of(3, {receive(1)})}),
              ElementsAre("Rank 3 waits in MPI_Recv from rank 1, tag 7, MPI_COMM_WORLD; rank 1 waits in MPI_Barrier, "
                          "MPI_COMM_WORLD."));
  EXPECT_THAT(conclude({rank_of(1), rank_of(3, {receive(1)})}),
              ElementsAre(HasSubstr("rank 1 waits for nothing that Sluice sees.")));
}

TEST(JobTest, SaysNothingWithoutCertainty) {
  EXPECT_THAT(conclude({rank_of(3, {receive(1)})}), IsEmpty());                              // on another node
  EXPECT_THAT(conclude({rank_of(1), rank_of(1), rank_of(3, {receive(1)})}), IsEmpty());      // two jobs
  EXPECT_THAT(conclude({rank_of(1), rank_of(3, {receive(1), receive(1)})}), IsEmpty());      // two threads
  EXPECT_THAT(conclude({rank_of(1), rank_of(3, {receive(waiting::kAnybody)})}), IsEmpty());  // any peer
  EXPECT_THAT(conclude({rank_of(1, {barrier()}), rank_of(3, {barrier()})}), IsEmpty());
}

TEST(JobTest, TellsTheTimeOnlyWhereItIsKnown) {
  SeenWait seen = receive(1);
  EXPECT_THAT(job_text({rank_of(3, {seen})}, 5'000'000'000), HasSubstr("since when is not known"));
  seen.wait.begun_ns = 3'000'000'000;
  EXPECT_THAT(job_text({rank_of(3, {seen})}, 5'000'000'000), HasSubstr("for 2.0 s"));
  seen.wait.begun_ns = 9'000'000'000;  // after the look
  EXPECT_THAT(job_text({rank_of(3, {seen})}, 5'000'000'000), HasSubstr("since when is not known"));
}

TEST(JobTest, SaysWhatAProcessWithoutATableIs) {
  JobProcess process;
  process.pid = 5;
  EXPECT_THAT(job_text({process}, 0), HasSubstr("process 5 has an MPI and no Sluice"));
  process.standing = JobProcess::Standing::kClosed;
  EXPECT_THAT(job_json({process}, 0), HasSubstr("\"closed\""));
}

}  // namespace
}  // namespace sluice::command::job_test
