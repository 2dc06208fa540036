// SPDX-License-Identifier: BSD-3-Clause
// The trace: what spans leave behind, by many threads too, and the file that it becomes.
#include "base/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

namespace sluice::trace::trace_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr Message kMessage{Operation::kIsend, 3, 42, 5, 17};

std::vector<json> spans_of(const json &document) {
  std::vector<json> spans;
  for (const json &event : document["traceEvents"]) {
    if (event["ph"] == "X") spans.push_back(event);
  }
  return spans;
}

// Stands first in the file: tracing cannot be switched off again.
TEST(TraceOff, KeepsNothing) {
  ASSERT_FALSE(is_enabled()) << "must run before the tests that switch tracing on";
  Span span;
  span.begin();
  enable();
  EXPECT_FALSE(span.is_begun()) << "begun while tracing was off";
  span.end(Lane::kD2h, kMessage, {1});
  EXPECT_TRUE(spans_of(json::parse(to_json(0))).empty());
}

class Trace : public ::testing::Test {
 protected:
  Trace() {
    enable();
    reset();
  }
  ~Trace() override { reset(); }
};

TEST_F(Trace, BecomesJson_WithEveryLaneNamed) {
  Span span;
  span.begin();
  span.end(Lane::kWire, kMessage, {4096, 2, 7});
  const json document = json::parse(to_json(9));
  EXPECT_EQ(document["otherData"]["format"], 1);
  EXPECT_EQ(document["otherData"]["rank"], 9);
  EXPECT_EQ(document["otherData"]["spans"], 1);
  EXPECT_EQ(document["otherData"]["dropped"], 0);
  EXPECT_GT(std::stoll(document["otherData"]["epoch_unix_ns"].get<std::string>()), 1'700'000'000'000'000'000);
  std::vector<std::string> lanes;
  for (const json &event : document["traceEvents"]) {
    EXPECT_EQ(event["pid"], 9);
    if (event["name"] == "process_name") {
      EXPECT_EQ(event["args"]["name"], "rank 9");
    }
    if (event["name"] == "thread_name") lanes.push_back(event["args"]["name"]);
  }
  EXPECT_THAT(lanes, ::testing::ElementsAre("D2H", "wire", "H2D", "kernel", "D2D", "file"));
  const std::vector<json> spans = spans_of(document);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0]["name"], "wire 2");
  EXPECT_EQ(spans[0]["tid"], 2);
  EXPECT_EQ(spans[0]["args"]["operation"], "MPI_Isend");
  EXPECT_EQ(spans[0]["args"]["peer"], 3);
  EXPECT_EQ(spans[0]["args"]["tag"], 42);
  EXPECT_EQ(spans[0]["args"]["block"], 2);
  EXPECT_EQ(spans[0]["args"]["blocks"], 7);
  EXPECT_EQ(spans[0]["args"]["bytes"], 4096);
  EXPECT_EQ(spans[0]["args"]["message"], "5:17");
  EXPECT_EQ(spans[0]["args"]["submitted"], spans[0]["ts"]);
}

TEST_F(Trace, NamesNoMessage_ThatOnlyOneEndKnows) {
  Span span;
  span.begin();
  span.end(Lane::kD2h, {Operation::kSend, 1, 0}, {8});
  EXPECT_FALSE(spans_of(json::parse(to_json(0)))[0]["args"].contains("message"));
}

TEST_F(Trace, KeepsOnlyWhatEnded_AndThatOnce) {
  Span ended;
  Span open;
  Span abandoned;
  for (Span *span : {&ended, &open, &abandoned}) span->begin();
  ended.end(Lane::kD2h, kMessage, {1});
  ended.end(Lane::kD2h, kMessage, {1});
  abandoned.abandon();
  abandoned.end(Lane::kD2h, kMessage, {1});
  EXPECT_EQ(spans_of(json::parse(to_json(0))).size(), 1U);
}

// Three copies submitted together and done in another order, with a message beside them.
TEST_F(Trace, DrawsASpanFromTheEndOfTheOneBeforeIt_InItsLane) {
  Span spans[4];
  for (Span &span : spans) span.begin();
  spans[1].end(Lane::kD2h, kMessage, {1, 1, 3});
  spans[3].end(Lane::kWire, kMessage, {1, 0, 3});
  spans[0].end(Lane::kD2h, kMessage, {1, 0, 3});
  spans[2].end(Lane::kD2h, kMessage, {1, 2, 3});
  const std::vector<json> drawn = spans_of(json::parse(to_json(0)));
  ASSERT_EQ(drawn.size(), 4U);
  constexpr double kRounding = 0.002;
  double lane_end = 0;
  for (const json &span : drawn) {
    EXPECT_GE(span["dur"].get<double>(), 0.0);
    EXPECT_GE(span["ts"].get<double>(), span["args"]["submitted"].get<double>());
    if (span["name"] == "wire 0") {
      EXPECT_EQ(span["ts"], span["args"]["submitted"]) << "lanes do not push each other";
      continue;
    }
    EXPECT_GE(span["ts"].get<double>(), lane_end - kRounding);
    lane_end = span["ts"].get<double>() + span["dur"].get<double>();
  }
  EXPECT_EQ(drawn[0]["args"]["block"], 1);
  EXPECT_EQ(drawn[0]["ts"], drawn[0]["args"]["submitted"]);
}

TEST_F(Trace, CountsWhatItDrops_WhenItIsFull) {
  constexpr std::size_t kTooMany = 10;
  Span span;
  for (std::size_t i = 0; i < kMostSpans + kTooMany; ++i) {
    span.begin();
    span.end(Lane::kH2d, kMessage, {i});
  }
  const json document = json::parse(to_json(0));
  EXPECT_EQ(document["otherData"]["spans"], kMostSpans);
  EXPECT_EQ(document["otherData"]["dropped"], kTooMany);
  EXPECT_EQ(spans_of(document).size(), kMostSpans);
}

TEST_F(Trace, KeepsTheSpansOfAllThreads) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kSpans = 1000;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      Span span;
      for (std::size_t i = 0; i < kSpans; ++i) {
        span.begin();
        span.end(static_cast<Lane>(t), kMessage, {1});
        if (i % 100 == 0) {
          EXPECT_FALSE(to_json(0).empty());
        }
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(spans_of(json::parse(to_json(0))).size(), kThreads * kSpans);
}

TEST(TraceFile, HasTheRankInItsName) {
  EXPECT_EQ(file_of("trace", 3), "trace.3.json");
  EXPECT_EQ(file_of("out/trace.json", 12), "out/trace.12.json");
  EXPECT_EQ(file_of("r%r.trace", 0), "r0.trace");
}

TEST_F(Trace, IsWritten_OrSaysWhyNot) {
  const std::string path = "/tmp/sluice-trace-test-" + std::to_string(getpid());
  ASSERT_TRUE(write(path, 4).is_ok());
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(std::remove(path.c_str()), 0);
  EXPECT_EQ(json::parse(text)["otherData"]["rank"], 4);
  const Status refused = write("/nowhere/trace.json", 0);
  EXPECT_FALSE(refused.is_ok());
  EXPECT_THAT(refused.message(), HasSubstr("/nowhere/trace.json"));
  EXPECT_THAT(refused.message(), HasSubstr("SLUICE_TRACE"));
}

}  // namespace
}  // namespace sluice::trace::trace_test
