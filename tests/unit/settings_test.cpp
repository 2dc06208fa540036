// SPDX-License-Identifier: BSD-3-Clause
// The settings: their table, the words of SLUICE_TUNING, and what is said of wrong ones.
#include "base/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <set>

#include "base/knobs.hpp"

namespace sluice::settings_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Knobs read(const std::string &tuning, std::vector<Status> *problems) {
  return Knobs::read(
      [&](const char *name) { return std::string_view(name) == "SLUICE_TUNING" ? tuning.c_str() : nullptr; }, problems);
}

// The one problem that a text has.
std::string problem_of(const std::string &tuning) {
  std::vector<Status> problems;
  const Knobs knobs = read(tuning, &problems);
  EXPECT_THAT(problems, SizeIs(1)) << tuning;
  for (const KnobValue &setting : knobs.settings()) {
    EXPECT_EQ(setting.value, setting.line.default_value) << tuning;
    EXPECT_EQ(setting.source, KnobSource::kDefault) << tuning;
  }
  return problems.empty() ? "" : problems[0].message();
}

TEST(Settings_Table, IsWholeAndSound) {
  std::set<std::string> names;
  for (const KnobLine &line : kSettings) {
    EXPECT_TRUE(names.insert(line.name).second) << line.name << " stands twice";
    EXPECT_EQ(std::string(line.name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos);
    EXPECT_TRUE(takes(line, line.default_value)) << line.name;
    EXPECT_STRNE(line.doc, "") << line.name;
    EXPECT_EQ(find_setting(line.name), &line);
  }
  EXPECT_EQ(find_setting("nonsense"), nullptr);
}

TEST(Settings_Words, GiveValues_TogetherWithTheWordForTheTables) {
  std::vector<Status> problems;
  const Knobs knobs =
      read("coll_ipc_threshold=4K,off,queue_depth=3,transfer_copy=7us,device_staging_memory=aligned", &problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(knobs.tuning_tables(), "off");
  EXPECT_EQ(knobs.bytes("coll_ipc_threshold"), 4096U);
  EXPECT_EQ(knobs.number("queue_depth"), 3U);
  EXPECT_EQ(knobs.duration("transfer_copy"), std::chrono::microseconds(7));
  EXPECT_EQ(knobs.text("device_staging_memory"), "aligned");
  EXPECT_TRUE(knobs.is_set("coll_ipc_threshold"));
  EXPECT_FALSE(knobs.is_set("coll_segment"));
  EXPECT_EQ(knobs.bytes("coll_segment"), default_number("coll_segment"));
}

TEST(Settings_Words, SayOfTheTablesWhatTheySaidAlone) {
  for (const char *tables : {"auto", "off", "/a/folder", "a.json", "/a=b/c"}) {
    std::vector<Status> problems;
    EXPECT_EQ(read(tables, &problems).tuning_tables(), tables);
    EXPECT_THAT(problems, IsEmpty());
  }
  std::vector<Status> problems;
  EXPECT_EQ(read("coll_segment=1M", &problems).tuning_tables(), "auto");
}

TEST(Settings_Words, OfWhichTheLastOfAKindHolds) {
  std::vector<Status> problems;
  const Knobs knobs = read("off,coll_segment=1M,/a/folder,coll_segment=4M", &problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(knobs.tuning_tables(), "/a/folder");
  EXPECT_EQ(knobs.text("coll_segment"), "4M");
}

TEST(Settings_Words, ThatNameNoSetting_ComeWithTheNearestOne) {
  EXPECT_THAT(problem_of("coll_ipc_treshold=0"),
              AllOf(HasSubstr("SLUICE_TUNING"), HasSubstr("coll_ipc_treshold"), HasSubstr("is coll_ipc_threshold.")));
  EXPECT_THAT(problem_of("off,COLL_SEGMENT=1M"), HasSubstr("COLL_SEGMENT, which is no setting"));
}

TEST(Settings_Words, OutOfRange_ComeWithTheRange) {
  for (const char *wrong : {"2G", "63", "", "many", "1us", "-1"}) {
    EXPECT_THAT(problem_of(std::string("coll_segment=") + wrong),
                AllOf(HasSubstr("coll_segment"), HasSubstr("\"" + std::string(wrong) + "\""), HasSubstr("64..1G")));
  }
  for (const char *wrong : {"3K", "0", "3s", "1048577"}) {
    EXPECT_THAT(problem_of(std::string("queue_depth=") + wrong), HasSubstr("1..1048576"));
  }
  for (const char *wrong : {"500", "999us", "1000001s", "5m", "s"}) {
    EXPECT_THAT(problem_of(std::string("queue_patience=") + wrong), HasSubstr("1ms..1000000s"));
  }
  EXPECT_THAT(problem_of("coll_own_block=early"), HasSubstr("auto|kernels"));
}

TEST(Settings_Words, AreNotEmpty) {
  EXPECT_THAT(problem_of(""), HasSubstr("empty word"));
  EXPECT_THAT(problem_of("off,"), HasSubstr("empty word"));
}

TEST(Settings_Words, ThatAreWrong_LeaveTheOthersInForce) {
  std::vector<Status> problems;
  const Knobs knobs = read("nonsense=1,coll_segment=1M,queue_depth=0", &problems);
  EXPECT_THAT(problems, SizeIs(2));
  EXPECT_EQ(knobs.text("coll_segment"), "1M");
  EXPECT_EQ(knobs.text("queue_depth"), "64");
}

TEST(ParseValue, KnowsTheUnitsOfATime) {
  const auto time_of = [](std::string_view text) {
    std::uint64_t value = 99;
    return parse_value(KnobType::kDuration, text, &value) ? value : 99;
  };
  EXPECT_EQ(time_of("5ns"), 5U);
  EXPECT_EQ(time_of("5us"), 5'000U);
  EXPECT_EQ(time_of("5ms"), 5'000'000U);
  EXPECT_EQ(time_of("5s"), 5'000'000'000U);
  for (const char *wrong : {"", "5", "s", "5 s", "5K", "5min", "1.5s", "18446744074s"})
    EXPECT_EQ(time_of(wrong), 99U) << wrong;
}

TEST(ParseValue, TakesDigitsAloneForACount) {
  std::uint64_t value = 99;
  EXPECT_TRUE(parse_value(KnobType::kNumber, "18446744073709551615", &value));
  EXPECT_EQ(value, std::numeric_limits<std::uint64_t>::max());
  for (const char *wrong : {"", "1K", "1s", "-1", "18446744073709551616"}) {
    EXPECT_FALSE(parse_value(KnobType::kNumber, wrong, &value)) << wrong;
  }
}

}  // namespace
}  // namespace sluice::settings_test
