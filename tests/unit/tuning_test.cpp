// SPDX-License-Identifier: BSD-3-Clause
// Tuning tables: what is read, what is refused and said, which table a device gets.
#include "plan/tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/knobs.hpp"
#include "base/settings.hpp"

namespace sluice::plan::tuning_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr const char *kGood =
    R"({"format": 2, "backend": "north", "device": "Polar", "settings": {"coll_ipc_threshold": "4K"}, "why": 1})";

std::string refusal(const std::string &text) {
  TuningTable table{"unchanged", "", "", {}};
  const Status status = parse_tuning(text, "/the/table.json", &table);
  EXPECT_FALSE(status.is_ok()) << text;
  EXPECT_EQ(table.path, "unchanged");
  EXPECT_THAT(status.message(), AllOf(HasSubstr("/the/table.json"), HasSubstr("SLUICE_TUNING=off")));
  return status.message();
}

std::string with_settings(const std::string &settings) {
  return R"({"format": 2, "backend": "north", "settings": )" + settings + "}";
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("sluice_tuning_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  void write(const std::string &name, const std::string &text) const { std::ofstream(path_ / name) << text; }
  [[nodiscard]] std::string path(const std::string &name = "") const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

TEST(ParseTuning, ReadsWhatATableSays) {
  TuningTable table;
  ASSERT_TRUE(parse_tuning(kGood, "a.json", &table).is_ok());
  EXPECT_EQ(table.path, "a.json");
  EXPECT_EQ(table.backend, "north");
  EXPECT_EQ(table.device, "Polar");
  EXPECT_THAT(table.values, ElementsAre(Pair("coll_ipc_threshold", "4K")));
}

TEST(ParseTuning, RefusesWhatIsNoTable) {
  EXPECT_THAT(refusal(""), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal("{\"format\": 2, "), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal(R"({"backend": "north", "settings": {}})"), HasSubstr("\"format\" is not 2"));
  EXPECT_THAT(refusal(R"({"format": 3, "backend": "north", "settings": {}})"), HasSubstr("\"format\" is not 2"));
  EXPECT_THAT(refusal(R"({"format": 2, "settings": {}})"), HasSubstr("\"backend\""));
  EXPECT_THAT(refusal(R"({"format": 2, "backend": 7, "settings": {}})"), HasSubstr("\"backend\""));
  EXPECT_THAT(refusal(with_settings("[]")), HasSubstr("no object \"settings\""));
}

TEST(ParseTuning, RefusesTheFormatOfVariables_AndSaysWhatToDo) {
  EXPECT_THAT(refusal(R"({"format": 1, "backend": "north", "knobs": {"SLUICE_COLL_IPC_THRESHOLD": "4K"}})"),
              AllOf(HasSubstr("\"format\" is 1"), HasSubstr("run `sluice tune` again")));
}

TEST(ParseTuning, RefusesSettingsThatItMayNotSet_AndValuesOutOfRange) {
  EXPECT_THAT(refusal(with_settings(R"({"SLUICE_ENABLE": "0"})")), HasSubstr("SLUICE_ENABLE is no setting"));
  EXPECT_THAT(refusal(with_settings(R"({"nonsense": "0"})")), HasSubstr("nonsense is no setting"));
  EXPECT_THAT(refusal(with_settings(R"({"queue_depth": "3"})")), HasSubstr("queue_depth is no setting"));
  EXPECT_THAT(refusal(with_settings(R"({"coll_chain_block": "2G"})")),
              AllOf(HasSubstr("cannot be \"2G\""), HasSubstr("0..1G")));
  EXPECT_THAT(refusal(with_settings(R"({"coll_chain_block": 65536})")), HasSubstr("cannot be 65536"));
  EXPECT_THAT(refusal(with_settings(R"({"device_staging_memory": "fast"})")), HasSubstr("cannot be \"fast\""));
}

TEST(ParseTuning, TakesEveryTunableSetting) {
  for (const KnobLine &line : kSettings) {
    TuningTable table;
    const std::string text = with_settings(std::string("{\"") + line.name + "\": \"" + line.default_value + "\"}");
    EXPECT_EQ(parse_tuning(text, "a.json", &table).is_ok(), line.is_tunable) << line.name;
  }
}

TEST(FindTuning, TakesTheLongestNameThatFitsFirst_AndEqualsInTheirOrder) {
  const std::vector<TuningTable> tables = {{"user", "south", "P2", {}},
                                           {"any", "south", "", {}},
                                           {"shipped", "south", "P1", {}},
                                           {"shipped", "south", "P2", {}},
                                           {"exact", "south", "Acme P2 NVL", {}}};
  const auto paths = [&](std::string_view backend, std::string_view device) {
    std::vector<std::string> result;
    for (const TuningTable *table : find_tuning(tables, backend, device)) result.push_back(table->path);
    return result;
  };
  EXPECT_THAT(paths("south", "Acme P2"), ElementsAre("user", "shipped", "any"));
  EXPECT_THAT(paths("south", "Acme P2 NVL"), ElementsAre("exact", "user", "shipped", "any"));
  EXPECT_THAT(paths("south", "Other"), ElementsAre("any"));
  EXPECT_THAT(paths("north", "Acme P2"), IsEmpty());
}

// A device's own table does not hide what is said of any.
TEST(TunedValue, IsThatOfTheFirstTableThatNamesTheSetting_ElseTheDefault) {
  const TuningTable own{"own", "south", "P2", {{"coll_ipc_threshold", "1K"}}};
  const TuningTable any{"any", "south", "", {{"coll_ipc_threshold", "1"}, {"coll_reduce_threshold", "2"}}};
  const std::vector<const TuningTable *> tables = {&own, &any};
  EXPECT_EQ(tuned_value(tables, "coll_ipc_threshold"), "1K");
  EXPECT_EQ(tuned_value(tables, "coll_reduce_threshold"), "2");
  EXPECT_EQ(tuned_value(tables, "coll_segment"), Knobs::process().text("coll_segment"));
}

TEST(TunedNumber, GoesByTheTypeOfTheSetting) {
  const TuningTable own{
      "own", "south", "", {{"coll_segment", "1K"}, {"transfer_copy", "2us"}, {"transfer_pack_from", "7"}}};
  const std::vector<const TuningTable *> tables = {&own};
  EXPECT_EQ(tuned_number(tables, "coll_segment"), 1024U);
  EXPECT_EQ(tuned_number(tables, "transfer_copy"), 2000U);
  EXPECT_EQ(tuned_number(tables, "transfer_pack_from"), 7U);
  EXPECT_EQ(tuned_number({}, "transfer_copy"), default_number("transfer_copy"));
}

// Programs come to their devices before and behind MPI_Init: the lengths agreed on are then those of the device, or of
// any. Both are to say the same of short reductions.
TEST(ShippedTables, HaveOneThresholdOfReductions_ForADeviceAndForAny) {
  std::vector<Status> problems;
  const std::vector<TuningTable> tables = read_tuning(UNIT_SHIPPED_TUNING, &problems);
  ASSERT_THAT(problems, IsEmpty());
  ASSERT_THAT(tables, Not(IsEmpty()));
  for (const TuningTable &table : tables) {
    if (find_tuning(tables, table.backend, "").empty()) continue;
    SCOPED_TRACE(table.path);
    EXPECT_EQ(tuned_value(find_tuning(tables, table.backend, table.device), "coll_reduce_threshold"),
              tuned_value(find_tuning(tables, table.backend, ""), "coll_reduce_threshold"));
  }
}

TEST(ReadTuning, TakesTheGoodFilesOfAFolderByName_AndSaysWhichItLeavesOut) {
  const Folder folder;
  folder.write("b.json", kGood);
  folder.write("a.json", kGood);
  folder.write("broken.json", "{");
  folder.write("notes.txt", "{");
  std::vector<Status> problems;
  const std::vector<TuningTable> tables = read_tuning(folder.path(), &problems);
  ASSERT_THAT(tables, SizeIs(2));
  EXPECT_EQ(tables[0].path, folder.path("a.json"));
  EXPECT_EQ(tables[1].path, folder.path("b.json"));
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_THAT(problems[0].message(), HasSubstr(folder.path("broken.json")));
}

TEST(ReadTuning, ReadsOneFile_AndHoldsNothingAgainstAFolderThatIsNotThere) {
  const Folder folder;
  folder.write("one.json", kGood);
  std::vector<Status> problems;
  EXPECT_THAT(read_tuning(folder.path("one.json"), &problems), SizeIs(1));
  EXPECT_THAT(read_tuning(folder.path("nowhere"), &problems), IsEmpty());
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(read_tuning(folder.path("missing.json"), &problems), IsEmpty());
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_THAT(problems[0].message(), HasSubstr("cannot be read"));
}

TEST(TuningFolders, AreTheUsersFirst) {
  ASSERT_EQ(setenv("XDG_CONFIG_HOME", "/config", 1), 0);
  EXPECT_THAT(tuning_folders("/lib/sluice"), ElementsAre("/config/sluice/tuning", "/lib/sluice/tuning"));
  ASSERT_EQ(unsetenv("XDG_CONFIG_HOME"), 0);
  ASSERT_EQ(setenv("HOME", "/home/me", 1), 0);
  EXPECT_THAT(tuning_folders("/lib/sluice"), ElementsAre("/home/me/.config/sluice/tuning", "/lib/sluice/tuning"));
}

}  // namespace
}  // namespace sluice::plan::tuning_test
