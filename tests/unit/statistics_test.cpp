// SPDX-License-Identifier: BSD-3-Clause
// The statistics: what is counted, by many threads too, and the table and JSON that it becomes.
#include "base/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace sluice::statistics::statistics_test {
namespace {

using std::chrono::nanoseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Stands first in the file: counting cannot be switched off again.
TEST(StatisticsOff, CountsNothing) {
  ASSERT_FALSE(is_enabled()) << "must run before the tests that switch counting on";
  const Stopwatch watch;
  record(Operation::kSend, MemoryKind::kDevice, Route::kStaged, 1, 100, nanoseconds(5));
  EXPECT_THAT(rows(), IsEmpty());
  EXPECT_EQ(watch.elapsed(), nanoseconds(0));
  enable();
  EXPECT_EQ(watch.elapsed(), nanoseconds(0)) << "begun while counting was off";
}

class Statistics : public ::testing::Test {
 protected:
  Statistics() {
    enable();
    reset();
  }
  ~Statistics() override { reset(); }
};

TEST_F(Statistics, AddUp_ForEachRow) {
  record(Operation::kSend, MemoryKind::kDevice, Route::kStaged, 1, 100, nanoseconds(5));
  record(Operation::kSend, MemoryKind::kDevice, Route::kStaged, 2, 11, nanoseconds(7));
  record(Operation::kSend, MemoryKind::kDevice, Route::kStaged, 0, 1, nanoseconds(1));
  ASSERT_THAT(rows(), SizeIs(1));
  const Row row = rows()[0];
  EXPECT_EQ(row.calls, 3u);
  EXPECT_EQ(row.bytes, 112u);
  EXPECT_EQ(row.nanoseconds, 13u);
}

TEST_F(Statistics, KeepEveryRowApart_InOrder) {
  std::uint64_t number = 0;
  for (std::size_t operation = 0; operation < kOperationNames.size(); ++operation) {
    for (std::size_t kind = 0; kind < kMemoryKindNames.size(); ++kind) {
      for (std::size_t route = 0; route < kRouteNames.size(); ++route) {
        ++number;
        record(static_cast<Operation>(operation), static_cast<MemoryKind>(kind), static_cast<Route>(route), number,
               number * 3, nanoseconds(number * 7));
      }
    }
  }
  const std::vector<Row> all = rows();
  ASSERT_THAT(all, SizeIs(number));
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].calls, i + 1);
    EXPECT_EQ(all[i].bytes, (i + 1) * 3);
    EXPECT_EQ(all[i].nanoseconds, (i + 1) * 7);
  }
  EXPECT_EQ(all.front().operation, Operation::kSend);
  EXPECT_EQ(all.front().kind, MemoryKind::kHost);
  EXPECT_EQ(all.back().kind, MemoryKind::kFreed);
  EXPECT_EQ(all.back().route, static_cast<Route>(kRouteNames.size() - 1));
}

TEST_F(Statistics, LoseNothing_WhenManyThreadsRecord) {
  constexpr std::uint64_t kThreads = 8;
  constexpr std::uint64_t kCalls = 5000;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (std::uint64_t i = 0; i < kCalls; ++i) {
        record(Operation::kIrecv, MemoryKind::kShared, Route::kStaged, 1, t + i, nanoseconds(2));
        if (i % 100 == 0) record_fallback("pool_exhausted");
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].calls, kThreads * kCalls);
  EXPECT_EQ(rows()[0].bytes, kThreads * (kCalls * (kCalls - 1) / 2) + kCalls * (kThreads * (kThreads - 1) / 2));
  EXPECT_EQ(rows()[0].nanoseconds, 2 * kThreads * kCalls);
  EXPECT_EQ(nlohmann::json::parse(to_json(0))["fallbacks"]["pool_exhausted"], kThreads * kCalls / 100);
}

TEST_F(Statistics, BecomeAText) {
  record(Operation::kIsendrecvReplace, MemoryKind::kDevice, Route::kStaged, 12, 1234567, nanoseconds(1500000));
  record(Operation::kSend, MemoryKind::kHost, Route::kHost, 1, 8, nanoseconds(0));
  record_fallback("pool_exhausted");
  const std::string text = to_text(3);
  EXPECT_THAT(text, HasSubstr("sluice statistics of rank 3\n"));
  EXPECT_THAT(text, HasSubstr("fallback pool_exhausted 1\n"));
  // The columns of all rows end at the same place.
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_EQ(lines[2].size(), lines[1].size());
  EXPECT_EQ(lines[3].size(), lines[1].size());
  EXPECT_THAT(lines[2], ::testing::ContainsRegex("^MPI_Send +host +host +1 +8 +0.000$"));
  EXPECT_THAT(lines[3], ::testing::ContainsRegex("^MPI_Isendrecv_replace +device +staged +12 +1234567 +1.500$"));
}

TEST_F(Statistics, BecomeJson) {
  record(Operation::kRecv, MemoryKind::kDevice, Route::kStaged, 4, 4096, nanoseconds(99));
  record_fallback("pool_exhausted");
  record_fallback("pool_exhausted");
  record_fallback("a \"quoted\" reason");
  const nlohmann::json document = nlohmann::json::parse(to_json(5));
  EXPECT_EQ(document["format"], 1);
  EXPECT_EQ(document["rank"], 5);
  EXPECT_EQ(document["rows"], nlohmann::json::array({{{"operation", "MPI_Recv"},
                                                      {"buffer", "device"},
                                                      {"route", "staged"},
                                                      {"calls", 4},
                                                      {"bytes", 4096},
                                                      {"nanoseconds", 99}}}));
  EXPECT_EQ(document["fallbacks"]["pool_exhausted"], 2);
  EXPECT_EQ(document["fallbacks"]["a \"quoted\" reason"], 1);
}

TEST_F(Statistics, BecomeJson_WhenThereIsNothing) {
  const nlohmann::json document = nlohmann::json::parse(to_json(0));
  EXPECT_TRUE(document["rows"].is_array());
  EXPECT_TRUE(document["rows"].empty());
  EXPECT_TRUE(document["fallbacks"].is_object());
}

TEST_F(Statistics, AreGone_AfterReset) {
  record(Operation::kRecv, MemoryKind::kDevice, Route::kStaged, 4, 4096, nanoseconds(99));
  record_fallback("pool_exhausted");
  reset();
  EXPECT_THAT(rows(), IsEmpty());
  EXPECT_TRUE(nlohmann::json::parse(to_json(0))["fallbacks"].empty());
  record(Operation::kRecv, MemoryKind::kDevice, Route::kStaged, 1, 0, nanoseconds(0));
  EXPECT_EQ(rows().at(0).nanoseconds, 0u) << "time of before the reset came back";
}

TEST_F(Statistics, MeasureTime_WhenOn) {
  const Stopwatch watch;
  nanoseconds time(0);
  while (time == nanoseconds(0)) time = watch.elapsed();  // the clock moves on
  EXPECT_GT(time, nanoseconds(0));
}

}  // namespace
}  // namespace sluice::statistics::statistics_test
