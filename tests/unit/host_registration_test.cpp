// SPDX-License-Identifier: BSD-3-Clause
// Pages of the host that a runtime knows: they stay mapped until it lets go of them, whenever that is.
#include "device/host_registration.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <set>

#include "fake_backend.hpp"

namespace sluice::device::host_registration_test {
namespace {

// What the table's functions below see; they carry no user data.
struct Runtime {
  std::set<void *> registered;
  sluice_result_t answer = SLUICE_SUCCESS;      // to host_register
  sluice_result_t given_back = SLUICE_SUCCESS;  // to host_unregister
  int bad_calls = 0;
};
Runtime runtime;

sluice_result_t register_one(std::int32_t /*device*/, void *memory, std::size_t /*size_bytes*/) {
  if (runtime.answer == SLUICE_SUCCESS && !runtime.registered.insert(memory).second) ++runtime.bad_calls;
  return runtime.answer;
}

sluice_result_t unregister_one(std::int32_t /*device*/, void *memory) {
  if (runtime.given_back != SLUICE_NOT_READY && runtime.registered.erase(memory) == 0) ++runtime.bad_calls;
  return runtime.given_back;
}

class HostRegistrationTest : public ::testing::Test {
 protected:
  HostRegistrationTest() {
    runtime = {};
    table.host_register = register_one;
    table.host_unregister = unregister_one;
    table.stream_copy = [](sluice_stream_t *, void *, const void *, std::size_t) { return SLUICE_ERROR_UNSUPPORTED; };
    table.stream_take = [](sluice_stream_t *, void *, const sluice_units_t *, std::size_t, const std::uint64_t *) {
      return SLUICE_ERROR_UNSUPPORTED;
    };
    Status status;
    backend = Backend::over_table(&table, &status);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }
  ~HostRegistrationTest() override {
    runtime.given_back = SLUICE_SUCCESS;
    release_host_registrations();
    EXPECT_TRUE(runtime.registered.empty());
    EXPECT_EQ(runtime.bad_calls, 0);
  }

  using Pages = std::array<std::uint64_t, 512>;
  Status open(HostRegistration *registration, const std::shared_ptr<Pages> &pages) {
    return registration->open(backend.get(), 0, pages->data(), sizeof *pages, pages);
  }

  tests::FakeBackend fake;
  sluice_backend_t table = fake.table();
  std::unique_ptr<Backend> backend;
};

TEST_F(HostRegistrationTest, ItsPagesLiveAsLongAsItDoes) {
  auto pages = std::make_shared<Pages>();
  const std::weak_ptr<Pages> seen = pages;
  HostRegistration registration;
  ASSERT_TRUE(open(&registration, pages).is_ok());
  EXPECT_TRUE(registration.is_open());
  pages.reset();
  EXPECT_FALSE(seen.expired());
  registration.reset();
  EXPECT_FALSE(registration.is_open());
  EXPECT_TRUE(seen.expired());
  registration.reset();
}

TEST_F(HostRegistrationTest, WhatTheRuntimeKeeps_StaysMapped_UntilItLetsGo) {
  auto pages = std::make_shared<Pages>();
  auto others = std::make_shared<Pages>();
  const std::weak_ptr<Pages> seen = pages;
  HostRegistration registration;
  ASSERT_TRUE(open(&registration, pages).is_ok());
  pages.reset();
  runtime.given_back = SLUICE_NOT_READY;
  registration.reset();
  EXPECT_FALSE(registration.is_open());
  EXPECT_FALSE(seen.expired());
  // The next call of any registration asks again.
  ASSERT_TRUE(open(&registration, others).is_ok());
  EXPECT_FALSE(seen.expired());
  runtime.given_back = SLUICE_SUCCESS;
  registration.reset();
  EXPECT_TRUE(seen.expired());
}

TEST_F(HostRegistrationTest, WhatIsRefused_IsNotHeld) {
  auto pages = std::make_shared<Pages>();
  HostRegistration registration;
  for (const sluice_result_t answer : {SLUICE_ERROR_NATIVE, SLUICE_NOT_READY, SLUICE_ERROR_UNSUPPORTED}) {
    runtime.answer = answer;
    EXPECT_FALSE(open(&registration, pages).is_ok());
    EXPECT_FALSE(registration.is_open());
    EXPECT_EQ(pages.use_count(), 1);
  }
}

TEST_F(HostRegistrationTest, WhatIsLeftInTheEnd_StaysMapped_AndIsNotAskedForAgain) {
  const auto pages = std::make_shared<Pages>();
  {
    HostRegistration registration;
    ASSERT_TRUE(open(&registration, pages).is_ok());
    runtime.given_back = SLUICE_NOT_READY;
  }
  release_host_registrations();
  runtime.given_back = SLUICE_SUCCESS;
  release_host_registrations();
  EXPECT_EQ(runtime.registered.size(), 1U);
  EXPECT_EQ(pages.use_count(), 2);
  runtime.registered.clear();
}

}  // namespace
}  // namespace sluice::device::host_registration_test
