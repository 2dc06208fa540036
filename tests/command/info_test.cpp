// SPDX-License-Identifier: BSD-3-Clause
// `sluice info`: what it prints of knobs and settings.
#include "command/info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sluice::command::info_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;

Info made_up() {
  Info info;
  info.knobs = {{"SLUICE_A", "1", "environment", "0|1", "Does a thing.", "", false},
                {"SLUICE_B", "off", "default", "", "Does another.", "experimental", false}};
  info.settings = {{"alpha", "5us", "default", "1ns..1s", "A time.", "", true},
                   {"beta", "64", "environment", "1..128", "A count.", "", false}};
  return info;
}

TEST(ExperimentalOf, ReadsATextOfKnobsDef) {
  EXPECT_EQ(experimental_of("Whether it works. off: no."), "");
  EXPECT_EQ(experimental_of("Whether it works. Experimental: no device has run it. off: no."), "experimental");
  EXPECT_EQ(experimental_of("How. a: so. b: experimental; thus. c: experimental; else."), "experimental: b, c");
}

TEST(InfoText, HasKnobsAndSettingsInTablesOfTheirOwn) {
  const std::string text = to_text(made_up());
  EXPECT_THAT(text, AllOf(ContainsRegex("SLUICE_A +1 +\\(environment\\) 0.1\n"),
                          ContainsRegex("SLUICE_B +off +\\(default\\) +experimental\n"),
                          ContainsRegex("alpha +5us +\\(default\\) +1ns\\.\\.1s; by table\n"),
                          ContainsRegex("beta +64 +\\(environment\\) 1\\.\\.128\n")));
  EXPECT_LT(text.find("SLUICE_B"), text.find("\nSettings (SLUICE_TUNING=name=value"));
  EXPECT_LT(text.find("\nSettings ("), text.find("alpha"));
}

TEST(InfoText, HasTheWaysOfACollectiveCall) {
  Info info = made_up();
  EXPECT_EQ(to_text(info).find("Ways of"), std::string::npos);
  info.ways = WaysAnswer{{"bcast", 4096, 8, 2}, "made_up", {"together -> not tried: why", "host -> taken: why"}};
  EXPECT_THAT(to_text(info), ContainsRegex("Ways of bcast of 4096 bytes, 8 ranks, 2 nodes, backend made_up\n"
                                           "  together -> not tried: why\n  host -> taken: why\n"));
  const nlohmann::json root = nlohmann::json::parse(to_json(info));
  EXPECT_EQ(root.at("ways").at("nodes"), 2);
  EXPECT_EQ(root.at("ways").at("sentences").size(), 2U);
}

TEST(InfoJson, HasThemInListsOfTheirOwn) {
  const nlohmann::json root = nlohmann::json::parse(to_json(made_up()));
  EXPECT_EQ(root.at("knobs").size(), 2U);
  EXPECT_EQ(root.at("knobs").at(1).at("experimental"), "experimental");
  EXPECT_EQ(root.at("settings").at(0).at("name"), "alpha");
  EXPECT_EQ(root.at("settings").at(0).at("is_tunable"), true);
  EXPECT_EQ(root.at("settings").at(1).at("value"), "64");
}

}  // namespace
}  // namespace sluice::command::info_test
