// SPDX-License-Identifier: BSD-3-Clause
// Marks: which ranks of a node run the library, by what launchers say. The ranks are objects of one process here.
#include "wire/marks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/local_socket.hpp"

namespace sluice::wire::marks_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kRanks = 3;

class MarksOfAJob : public testing::Test {
 protected:
  MarksOfAJob() {
    for (const char *name : kVariables) unsetenv(name);
    set("PMIX_NAMESPACE", "test-" + std::to_string(getpid()));
    set("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(kRanks));
  }
  ~MarksOfAJob() override {
    for (const char *name : kVariables) unsetenv(name);
  }
  MarksOfAJob(const MarksOfAJob &) = delete;
  MarksOfAJob &operator=(const MarksOfAJob &) = delete;
  MarksOfAJob(MarksOfAJob &&) = delete;
  MarksOfAJob &operator=(MarksOfAJob &&) = delete;

  static void set(const char *name, const std::string &value) { EXPECT_EQ(setenv(name, value.c_str(), 1), 0); }

  // That of a rank, which has left it.
  static std::unique_ptr<Marks> leave(int rank) {
    set("OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(rank));
    auto marks = std::make_unique<Marks>();
    marks->leave();
    return marks;
  }

 private:
  static constexpr const char *kVariables[] = {
      "PMIX_NAMESPACE", "PMIX_SERVER_TMPDIR",         "PMI_FD",
      "PMI_PORT",       "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"};
};

TEST_F(MarksOfAJob, AreSeenByAll) {
  const std::vector<std::unique_ptr<Marks>> ranks = [] {
    std::vector<std::unique_ptr<Marks>> made;
    for (int rank = 0; rank < kRanks; ++rank) made.push_back(leave(rank));
    return made;
  }();
  for (int rank = 0; rank < kRanks; ++rank) {
    const MarkedRanks found = ranks[static_cast<std::size_t>(rank)]->look(kRanks);
    EXPECT_TRUE(found.is_known);
    EXPECT_EQ(found.n_local, kRanks);
    EXPECT_THAT(found.missing, IsEmpty());
    EXPECT_EQ(found.is_first, rank == 0);
  }
}

TEST_F(MarksOfAJob, TellWhoIsMissing_AndWhoSpeaks) {
  const std::unique_ptr<Marks> second = leave(1);
  const std::unique_ptr<Marks> third = leave(2);
  for (Marks *rank : {second.get(), third.get()}) {
    const MarkedRanks found = rank->look(kRanks);
    EXPECT_TRUE(found.is_known);
    EXPECT_THAT(found.missing, ElementsAre(0));
    EXPECT_EQ(found.is_first, rank == second.get());
  }
}

TEST_F(MarksOfAJob, GoWithTheirRank) {
  const std::unique_ptr<Marks> first = leave(0);
  const std::unique_ptr<Marks> second = leave(1);
  leave(2).reset();
  EXPECT_THAT(first->look(kRanks).missing, ElementsAre(2));
  second->take_away();
  EXPECT_THAT(first->look(kRanks).missing, ElementsAre(1, 2));
  EXPECT_FALSE(second->look(kRanks).is_known) << "without a mark of its own it knows nothing";
}

TEST_F(MarksOfAJob, OfAnotherJobDoNotCount) {
  const std::unique_ptr<Marks> first = leave(0);
  set("PMIX_NAMESPACE", "other-" + std::to_string(getpid()));
  const std::unique_ptr<Marks> second = leave(1);
  const std::unique_ptr<Marks> third = leave(2);
  EXPECT_THAT(first->look(kRanks).missing, ElementsAre(1, 2));
}

TEST_F(MarksOfAJob, MeanNothing_WhereTheLauncherSaysTooLittle) {
  unsetenv("PMIX_NAMESPACE");
  EXPECT_FALSE(leave(0)->look(kRanks).is_known) << "no job";
  set("PMIX_NAMESPACE", "test-" + std::to_string(getpid()));
  EXPECT_FALSE(leave(0)->look(kRanks - 1).is_known) << "more ranks than there are: another program's environment";
  const std::unique_ptr<Marks> first = leave(0);
  EXPECT_FALSE(leave(0)->look(kRanks).is_known) << "the mark is another process's";
  unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  EXPECT_FALSE(leave(1)->look(kRanks).is_known) << "no number of ranks";
}

}  // namespace
}  // namespace sluice::wire::marks_test
