// SPDX-License-Identifier: BSD-3-Clause
// `sluice trace merge`: several ranks' traces become one, on the time axis of the one that begins first.
#include "command/trace_merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sluice::command::trace_merge_test {
namespace {

using ::testing::HasSubstr;

// A trace with one span, submitted at 1 us and drawn from 2 us on.
std::string trace_of(int rank, const std::string &epoch_ns, int dropped) {
  const nlohmann::json name = {{"ph", "M"}, {"name", "process_name"}, {"pid", rank}, {"args", {{"name", "rank"}}}};
  const nlohmann::json span = {{"ph", "X"},
                               {"name", "D2H 0"},
                               {"pid", rank},
                               {"tid", 1},
                               {"ts", 2.0},
                               {"dur", 5.0},
                               {"args", {{"submitted", 1.0}}}};
  return nlohmann::json{{"otherData", {{"format", 1}, {"dropped", dropped}, {"epoch_unix_ns", epoch_ns}}},
                        {"traceEvents", {name, span}}}
      .dump();
}

TEST(TraceMerge, MovesTimes_ToTheAxisOfTheFirst) {
  std::string merged;
  // 2.5 us apart, in numbers that no double holds to the nanosecond.
  ASSERT_TRUE(
      merge_traces({"a", "b"}, {trace_of(1, "1795277888659742790", 3), trace_of(0, "1795277888659740290", 4)}, &merged)
          .is_ok());
  const nlohmann::json document = nlohmann::json::parse(merged);
  EXPECT_EQ(document["otherData"]["dropped"], 7);
  EXPECT_EQ(document["otherData"]["merged"], 2);
  EXPECT_EQ(document["otherData"]["epoch_unix_ns"], "1795277888659740290");
  ASSERT_EQ(document["traceEvents"].size(), 4U);
  EXPECT_FALSE(document["traceEvents"][0].contains("ts"));
  EXPECT_EQ(document["traceEvents"][1]["pid"], 1);
  EXPECT_EQ(document["traceEvents"][1]["ts"], 4.5);
  EXPECT_EQ(document["traceEvents"][1]["dur"], 5.0);
  EXPECT_EQ(document["traceEvents"][1]["args"]["submitted"], 3.5);
  EXPECT_EQ(document["traceEvents"][3]["ts"], 2.0);
}

TEST(TraceMerge, NamesTheFile_ThatIsNoTrace) {
  for (const char *text : {"", "[]", "{}", R"({"otherData":{"format":2,"dropped":0,"epoch_unix_ns":"1"}})",
                           R"({"otherData":{"format":1,"dropped":0,"epoch_unix_ns":"x"},"traceEvents":[]})",
                           R"({"otherData":{"format":1,"dropped":0,"epoch_unix_ns":"1"}})",
                           R"({"otherData":{"format":1,"dropped":0,"epoch_unix_ns":"1"},"traceEvents":[{"ts":1}]})"}) {
    std::string merged = "untouched";
    const Status status = merge_traces({"good", "wrong"}, {trace_of(0, "5", 0), text}, &merged);
    EXPECT_FALSE(status.is_ok()) << text;
    EXPECT_THAT(status.message(), HasSubstr("wrong is no trace")) << text;
    EXPECT_EQ(merged, "untouched");
  }
}

TEST(TraceMerge, SaysWhichFile_CannotBeReadOrWritten) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(merge_traces({"/nowhere/a.json"}, ""), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("/nowhere/a.json cannot be read"));
}

}  // namespace
}  // namespace sluice::command::trace_merge_test
