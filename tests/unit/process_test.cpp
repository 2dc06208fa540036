// SPDX-License-Identifier: BSD-3-Clause
// What the process reads from its environment once: the knobs with their problems, the log level, the switch, the
// policy and the pool's limit. main() sets the environment before anything reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "base/switch.hpp"
#include "device/registry.hpp"
#include "device/staging_pool.hpp"
#include "environment.hpp"
#include "fake_backend.hpp"
#include "plan/policy.hpp"

namespace sluice::process_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// What the first use of the process's knobs says; the same at every call.
const std::string &first_words() {
  static const std::string text = [] {
    ::testing::internal::CaptureStderr();
    static_cast<void>(Knobs::process());
    return ::testing::internal::GetCapturedStderr();
  }();
  return text;
}

TEST(Process_Knobs, AreReadOnce_AndProblemsAreSaidOnce) {
  EXPECT_THAT(first_words(), AllOf(HasSubstr("error base knob SLUICE_STATS has the value \"sometimes\""),
                                   HasSubstr("off|rank0|all|0|1")));
  EXPECT_EQ(std::count(first_words().begin(), first_words().end(), '\n'), 1) << first_words();
  ASSERT_EQ(setenv("SLUICE_STATS", "all", 1), 0);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Knobs::process().text("SLUICE_STATS"), "off") << "the default stands for a wrong value, and for good";
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Process_Knobs, SetTheLogLevel) {
  first_words();
  EXPECT_EQ(log::level(), log::Level::kInfo);
}

TEST(Process_Switch, IsOff_WhenTheKnobIsZero) {
  first_words();
  EXPECT_FALSE(is_enabled());
  EXPECT_FALSE(is_enabled()) << "the second call reads what the first kept";
}

TEST(Process_Policy, ComesFromTheKnobs) {
  first_words();
  tests::FakeBackend fake;
  fake.set_preferred_staging(SLUICE_STAGING_RUNTIME);
  Status status;
  const std::unique_ptr<device::Backend> backend = device::Backend::over_table(&fake.table(), &status);
  ASSERT_NE(backend, nullptr);
  const plan::Policy policy = plan::policy_of(backend.get(), 0);
  EXPECT_EQ(policy.staging_memory, StagingMemory::kAligned) << "the setting beats the backend's preference";
}

TEST(Process_Policy, ComesFromTheTuningTable_WhereTheEnvironmentIsSilent) {
  first_words();
  tests::FakeBackend fake;
  Status status;
  const std::unique_ptr<device::Backend> backend = device::Backend::over_table(&fake.table(), &status);
  ASSERT_NE(backend, nullptr);
  const plan::Policy policy = plan::policy_of(backend.get(), 0);
  EXPECT_EQ(policy.coll_ipc_threshold_bytes, 4096U) << "the table's";
  EXPECT_EQ(policy.coll_chain_block_bytes, 0U) << "the default: the table does not name it";
  EXPECT_EQ(policy.staging_memory, StagingMemory::kAligned) << "the environment's, over the table's";
  EXPECT_EQ(plan::policy_of(nullptr, -1).coll_ipc_threshold_bytes, default_number("coll_ipc_threshold"))
      << "no backend, no table";
}

TEST(Process_Policy, KeepsToWhatTheDeviceCanDo) {
  first_words();
  tests::FakeBackend fake;
  fake.set_traits(SLUICE_DEVICE_COPIES_BY_CPU | SLUICE_DEVICE_NO_EXPORT);
  Status status;
  const std::unique_ptr<device::Backend> backend = device::Backend::over_table(&fake.table(), &status);
  ASSERT_NE(backend, nullptr);
  const plan::Policy slow = plan::policy_of(backend.get(), 0);
  EXPECT_FALSE(slow.allows_ipc);
  EXPECT_EQ(slow.pipeline, Pipeline::kNone) << "auto, on a device whose copies the CPU makes";
  fake.set_traits(0);
  EXPECT_EQ(plan::policy_of(backend.get(), 0).pipeline, Pipeline::kAuto);
}

TEST(Process_Pool, HasTheKnobsLimit) {
  first_words();
  device::StagingPool &pool = device::StagingPool::process();
  EXPECT_EQ(&pool, &device::StagingPool::process());
  const device::StagingSource source{nullptr, 0, StagingMemory::kMalloc};
  device::StagingLease first;
  device::StagingLease second;
  ASSERT_TRUE(pool.acquire(source, 8192, &first).is_ok());
  EXPECT_EQ(pool.held_bytes(), 8192U);
  ASSERT_TRUE(pool.acquire(source, 1, &second).is_ok());
  EXPECT_EQ(pool.held_bytes(), 8192U) << "above the limit memory is not pooled";
}

TEST(Process_Registry, ReportsUnknownKnobsAndBackends) {
  first_words();
  ::testing::internal::CaptureStderr();
  device::Registry registry;
  EXPECT_TRUE(registry.backends().empty());
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("unknown knob SLUICE_ENABEL; the nearest known one is SLUICE_ENABLE"));
  EXPECT_THAT(text, HasSubstr("unknown knob SLUICE_COLL_SEGMENT; it is a setting: write SLUICE_TUNING=coll_segment="));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("SLUICE_EARLY_DEPTH"))) << "belongs to a module that is there";
  EXPECT_THAT(text, AllOf(HasSubstr("SLUICE_BACKENDS names the backend \"nonesuch\""),
                          HasSubstr(device::module_folder()), HasSubstr("sluice info")));
  EXPECT_EQ(device::module_folder(), SLUICE_UNIT_MODULES "/registry");
}

bool set_environment() {
  tests::clear_knobs();
  const std::string folder = std::string(SLUICE_UNIT_MODULES) + "/registry";
  const std::string tuning =
      "off,device_staging_memory=aligned," + std::string(SLUICE_UNIT_MODULES) + "/tuning,device_pool_bytes=8K";
  const std::vector<std::pair<const char *, const char *>> settings = {{"SLUICE_ENABLE", "0"},
                                                                       {"SLUICE_ENABEL", "0"},
                                                                       {"SLUICE_EARLY_DEPTH", "1"},
                                                                       {"SLUICE_LOG", "info"},
                                                                       {"SLUICE_STATS", "sometimes"},
                                                                       {"SLUICE_BACKENDS", "early,nonesuch"},
                                                                       {"SLUICE_TUNING", tuning.c_str()},
                                                                       {"SLUICE_COLL_SEGMENT", "1M"},
                                                                       {"SLUICE_BACKEND_PATH", folder.c_str()}};
  return std::all_of(settings.begin(), settings.end(),
                     [](const auto &setting) { return setenv(setting.first, setting.second, 1) == 0; });
}

}  // namespace
}  // namespace sluice::process_test

int main(int argc, char **argv) {
  if (!sluice::process_test::set_environment()) return 1;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
