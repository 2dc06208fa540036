// SPDX-License-Identifier: BSD-3-Clause
// The values that the knobs of backends take, and what is said of others.
#include "backends/knob_range.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace sluice::backends::knob_range_test {
namespace {

constexpr Knob kKnobs[] = {{"SLUICE_FAKE_DEPTH", "7", "2..16"},
                           {"SLUICE_FAKE_WAYS", "auto", "auto|none|driver,fabric,fd"},
                           {"SLUICE_FAKE_ROLES", "", "a,b"},
                           {"SLUICE_FAKE_PATH", "/dev/null", ""}};

const char *g_value = nullptr;
std::vector<std::string> g_said;

const char *lend(const char * /*name*/) {
  return g_value;
}

void say(int level, const char *text) {
  EXPECT_EQ(level, 1);
  g_said.emplace_back(text);
}

constexpr sluice_host_services_t kServices = {sizeof(sluice_host_services_t), say, lend};

void expect_taken(const Knob &knob, std::initializer_list<const char *> values) {
  for (const char *value : values) {
    EXPECT_TRUE(is_taken(knob, value)) << knob.name << "=" << value;
    EXPECT_EQ(in_force(knob, value), value);
  }
}

void expect_refused(const Knob &knob, std::initializer_list<const char *> values) {
  for (const char *value : values) {
    EXPECT_FALSE(is_taken(knob, value)) << knob.name << "=" << value;
    EXPECT_EQ(in_force(knob, value), knob.default_value);
  }
}

TEST(KnobRange, TakesWhatItSays_AndNothingElse) {
  expect_taken(kKnobs[0], {"2", "7", "16"});
  expect_refused(kKnobs[0], {"", "1", "17", "x", "7x", " 7", "-3", "+3", "2..16", "99999999999999999999"});
  expect_taken(kKnobs[1], {"auto", "none", "driver", "fd", "fd,driver", "fabric,fabric"});
  expect_refused(kKnobs[1],
                 {"", ",", "au", "autos", "auto,none", "auto|none", "fd,", ",fd", "fd,,driver", "fd,none", "fd "});
  expect_taken(kKnobs[2], {"", "a", "b,a"});
  expect_refused(kKnobs[2], {"c", "a,c", "a,"});
  expect_taken(kKnobs[3], {"", "x", "a|b"});
}

TEST(KnobRange, LeavesTheDefaultInForce_AndSaysSo) {
  EXPECT_EQ(in_force(kKnobs[0], nullptr), "7");
  EXPECT_EQ(find_in_force(nullptr, kKnobs, "SLUICE_FAKE_WAYS"), "auto");
  g_value = "9";
  EXPECT_EQ(find_in_force(&kServices, kKnobs, "SLUICE_FAKE_DEPTH"), "9");
  EXPECT_EQ(find_in_force(&kServices, kKnobs, "SLUICE_FAKE_WAYS"), "auto");
  EXPECT_EQ(find_in_force(&kServices, kKnobs, "SLUICE_FAKE_NOWHERE"), "");
  g_said.clear();
  report_wrong_knobs(&kServices, kKnobs);
  ASSERT_EQ(g_said.size(), 2U);  // of the words and of the roles
  EXPECT_EQ(
      g_said[0],
      "knob SLUICE_FAKE_WAYS has the value \"9\"; allowed is auto|none|driver,fabric,fd; the default auto is used. "
      "Correct or unset the variable.");
  EXPECT_NE(g_said[1].find("the default (empty) is used"), std::string::npos);
  g_said.clear();
  g_value = nullptr;
  report_wrong_knobs(&kServices, kKnobs);
  EXPECT_TRUE(g_said.empty());
}

}  // namespace
}  // namespace sluice::backends::knob_range_test
