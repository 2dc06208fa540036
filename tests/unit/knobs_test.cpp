// SPDX-License-Identifier: BSD-3-Clause
// The knobs: values of every type, what is said about wrong ones, and unknown names.
#include "base/knobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>

#include "base/settings.hpp"

namespace sluice::knobs_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Variables = std::map<std::string, std::string, std::less<>>;

Knobs read(const Variables &variables, std::vector<Status> *problems) {
  return Knobs::read(
      [&](const char *name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      problems);
}

// A setting that must be refused: the default stays, and one problem names the knob, the value and the range.
void expect_refused(const KnobLine &line, const std::string &value) {
  std::vector<Status> problems;
  const Knobs knobs = read({{line.name, value}}, &problems);
  EXPECT_EQ(knobs.text(line.name), line.default_value) << line.name << "=" << value;
  ASSERT_THAT(problems, SizeIs(1)) << line.name << "=" << value;
  EXPECT_EQ(problems[0].kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(problems[0].message(),
              AllOf(HasSubstr(line.name), HasSubstr("\"" + value + "\""), HasSubstr(line.range)));
}

void expect_taken(const KnobLine &line, const std::string &value) {
  std::vector<Status> problems;
  const Knobs knobs = read({{line.name, value}}, &problems);
  EXPECT_EQ(knobs.text(line.name), value) << line.name;
  EXPECT_THAT(problems, IsEmpty()) << line.name << "=" << value;
}

std::vector<std::string> choices(std::string range) {
  std::vector<std::string> words;
  for (std::size_t bar = range.find('|'); bar != std::string::npos; bar = range.find('|')) {
    words.push_back(range.substr(0, bar));
    range.erase(0, bar + 1);
  }
  words.push_back(range);
  return words;
}

TEST(Knobs_Table, IsWholeAndSound) {
  std::set<std::string> names;
  for (const KnobLine &line : knob_lines()) {
    EXPECT_TRUE(std::string(line.name).starts_with("SLUICE_"));
    EXPECT_TRUE(names.insert(line.name).second) << line.name << " stands twice";
    EXPECT_THAT((std::set<std::string>{"stable", "debug"}), ::testing::Contains(line.stability)) << line.name;
    EXPECT_STRNE(line.doc, "") << line.name;
    EXPECT_STRNE(line.range, "") << line.name;
    expect_taken(line, line.default_value);
  }
}

TEST(Knobs_Read, GivesDefaults_WhenNothingIsSet) {
  std::vector<Status> problems;
  const Knobs knobs = read({}, &problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_EQ(knobs.values().size(), knob_lines().size());
  for (const KnobValue &value : knobs.values()) {
    EXPECT_EQ(value.value, value.line.default_value);
    EXPECT_EQ(value.source, KnobSource::kDefault);
  }
}

TEST(Knobs_Read, TakesEveryAllowedWord) {
  for (const KnobLine &line : knob_lines()) {
    if (line.type != KnobType::kBool && line.type != KnobType::kEnum) continue;
    for (const std::string &word : choices(line.range)) expect_taken(line, word);
  }
}

TEST(Knobs_Read, RefusesOtherWords) {
  for (const KnobLine &line : knob_lines()) {
    if (line.type != KnobType::kBool && line.type != KnobType::kEnum) continue;
    for (const char *wrong : {"", " ", "yes", "2", "01", "ON", "|"}) expect_refused(line, wrong);
    expect_refused(line, line.range);  // the whole list is not a word of it
    expect_refused(line, std::string(line.default_value) + " ");
  }
}

TEST(Knobs_Read, ChecksTheRangeOfBytes) {
  const auto &lines = knob_lines();
  const auto line = std::find_if(lines.begin(), lines.end(),
                                 [](const KnobLine &l) { return std::string(l.name) == "SLUICE_P2P_BUFFERED_BYTES"; });
  ASSERT_NE(line, lines.end());
  for (const char *right : {"0", "1", "64K", "3m", "1024G", "1048576M", "1099511627776"}) expect_taken(*line, right);
  for (const char *wrong : {"", "1025G", "1099511627777", "-1", "+1", "1.5G", "64KB", "64 K", " 64", "K", "many",
                            "0x10", "18446744073709551616"}) {
    expect_refused(*line, wrong);
  }
}

TEST(Knobs_Read, TakesAnyText) {
  for (const KnobLine &line : knob_lines()) {
    if (line.type != KnobType::kText) continue;
    for (const char *text : {"", "a,b", "/tmp/a b%r", "|"}) expect_taken(line, text);
  }
}

TEST(Knobs_Read, KeepsEachProblemApart) {
  std::vector<Status> problems;
  const Knobs knobs = read({{"SLUICE_ENABLE", "maybe"}, {"SLUICE_LOG", "loud"}, {"SLUICE_STATS", "all"}}, &problems);
  EXPECT_THAT(problems, SizeIs(2));
  EXPECT_TRUE(knobs.is_on("SLUICE_ENABLE"));
  EXPECT_EQ(knobs.text("SLUICE_LOG"), "warn");
  EXPECT_EQ(knobs.text("SLUICE_STATS"), "all");
}

TEST(Knobs_Read, SaysWhereAValueCameFrom) {
  std::vector<Status> problems;
  const Knobs knobs = read({{"SLUICE_ENABLE", "1"}, {"SLUICE_LOG", "loud"}}, &problems);
  for (const KnobValue &value : knobs.values()) {
    const bool is_set = std::string(value.line.name) == "SLUICE_ENABLE";
    EXPECT_EQ(value.source, is_set ? KnobSource::kEnvironment : KnobSource::kDefault) << value.line.name;
  }
}

TEST(Knobs_Value, ComesInItsType) {
  std::vector<Status> problems;
  const Knobs knobs = read({{"SLUICE_ENABLE", "0"}, {"SLUICE_P2P_BUFFERED_BYTES", "3M"}}, &problems);
  EXPECT_FALSE(knobs.is_on("SLUICE_ENABLE"));
  EXPECT_EQ(knobs.bytes("SLUICE_P2P_BUFFERED_BYTES"), 3u << 20);
  EXPECT_EQ(knobs.bytes("SLUICE_LOG"), 0u) << "a word is no number of bytes";
}

TEST(ParseBytes, KnowsNumbersAndSuffixes) {
  const std::map<std::string, std::uint64_t> right = {{"0", 0},
                                                      {"7", 7},
                                                      {"0K", 0},
                                                      {"1k", 1024},
                                                      {"1K", 1024},
                                                      {"3M", 3ULL << 20},
                                                      {"3m", 3ULL << 20},
                                                      {"5G", 5ULL << 30},
                                                      {"5g", 5ULL << 30},
                                                      {"007", 7},
                                                      {"17179869183G", 17179869183ULL << 30}};
  for (const auto &[text, expected] : right) {
    std::uint64_t bytes = 99;
    EXPECT_TRUE(parse_bytes(text, &bytes)) << text;
    EXPECT_EQ(bytes, expected) << text;
  }
  std::uint64_t most = 0;
  EXPECT_TRUE(parse_bytes("18446744073709551615", &most));
  EXPECT_EQ(most, std::numeric_limits<std::uint64_t>::max());
}

TEST(ParseBytes, RefusesWhatIsNoNumberOrDoesNotFit) {
  for (const char *wrong : {"", "K", "1T", "1KB", "1 K", " 1", "1 ", "-1", "+1", "1.0", "0x1", "1e3", "ten",
                            "18446744073709551616", "17179869184G", "18014398509481984K"}) {
    std::uint64_t bytes = 99;
    EXPECT_FALSE(parse_bytes(wrong, &bytes)) << wrong;
    EXPECT_EQ(bytes, 99u) << wrong << " changed the result";
  }
}

TEST(UnknownKnobs, AreNamedWithTheNearestKnownOne) {
  const auto unknown = unknown_knobs({"SLUICE_ENABEL=1", "SLUICE_P2P_BUFFERED_BYTE=1G", "SLUICE_STATS_FILES="}, {});
  EXPECT_THAT(unknown,
              ElementsAre(AllOf(HasSubstr("SLUICE_ENABEL"), HasSubstr("is SLUICE_ENABLE.")),
                          AllOf(HasSubstr("SLUICE_P2P_BUFFERED_BYTE;"), HasSubstr("is SLUICE_P2P_BUFFERED_BYTES.")),
                          AllOf(HasSubstr("SLUICE_STATS_FILES"), HasSubstr("is SLUICE_STATS_FILE."))));
}

TEST(UnknownKnobs, ThatAreSettings_ComeWithTheWordToWrite) {
  EXPECT_THAT(unknown_knobs({"SLUICE_COLL_IPC_THRESHOLD=0", "SLUICE_TRANSFER_COPY_NS=5000"}, {}),
              ElementsAre(AllOf(HasSubstr("unknown knob SLUICE_COLL_IPC_THRESHOLD;"),
                                HasSubstr("write SLUICE_TUNING=coll_ipc_threshold=...")),
                          AllOf(HasSubstr("unknown knob SLUICE_TRANSFER_COPY_NS;"),
                                HasSubstr("nearest known one is SLUICE_TUNING=transfer_copy=..."))));
  for (const KnobLine &line : kSettings) {
    std::string variable = "SLUICE_";
    for (const char *letter = line.name; *letter != '\0'; ++letter)
      variable += static_cast<char>(std::toupper(*letter));
    EXPECT_THAT(unknown_knobs({variable}, {}), ElementsAre(HasSubstr(std::string("SLUICE_TUNING=") + line.name + "=")));
  }
}

TEST(UnknownKnobs, LeaveKnownAndForeignNamesAlone) {
  std::vector<std::string> environment = {
      "PATH=/bin",       "sluice_enable=1", "MY_SLUICE_KNOB=1", "NOEQUALS", "", "SLUICE_BENCH_MPIEXEC=mpirun",
      "SLUICE_ROOT=/opt"};
  for (const KnobLine &line : knob_lines()) environment.push_back(std::string(line.name) + "=x=y");
  EXPECT_THAT(unknown_knobs(environment, {}), IsEmpty());
}

TEST(UnknownKnobs, LeaveABackendsOwnNamesToIt) {
  const std::vector<std::string> environment = {"SLUICE_FAKE_DEPTH=1", "SLUICE_FAKER_DEPTH=1", "SLUICE_FAKE=1"};
  EXPECT_THAT(unknown_knobs(environment, {"SLUICE_FAKE_"}),
              ElementsAre(HasSubstr("SLUICE_FAKER_DEPTH"), HasSubstr("SLUICE_FAKE;")));
}

}  // namespace
}  // namespace sluice::knobs_test
