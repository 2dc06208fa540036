// SPDX-License-Identifier: BSD-3-Clause
// Under which names programs may ask for memory: the list of memory allocation kinds, put together.
#include "device/memory_names.hpp"

#include <gtest/gtest.h>

#include "device/backend.hpp"
#include "device/registry.hpp"
#include "fake_backend.hpp"

namespace sluice::device::memory_names_test {
namespace {

const std::vector<std::string> kKinds = {"vendor", "vendor:device", "vendor:host"};

TEST(WithMemoryKinds, AppendsWhatIsMissing) {
  EXPECT_EQ(with_memory_kinds("system,mpi", kKinds, {}, 255), "system,mpi,vendor,vendor:device,vendor:host");
  EXPECT_EQ(with_memory_kinds("mpi, Vendor:Device ,system", kKinds, {}, 255),
            "mpi, Vendor:Device ,system,vendor,vendor:host");
}

TEST(WithMemoryKinds, BeginsWithWhatMpiTakesForGranted_WhenTheHostSaysNothing) {
  EXPECT_EQ(with_memory_kinds("", kKinds, {}, 255), "mpi,system,vendor,vendor:device,vendor:host");
}

TEST(WithMemoryKinds, LeavesOut_WhatTheProgramAssertedNotToUse) {
  EXPECT_EQ(with_memory_kinds("system", kKinds, "system", 255), "system");
  EXPECT_EQ(with_memory_kinds("system", kKinds, "system,vendor:host", 255), "system,vendor:host");
  EXPECT_EQ(with_memory_kinds("system", kKinds, "vendor", 255), "system,vendor,vendor:device,vendor:host");
}

TEST(WithMemoryKinds, EndsBeforeTheTextIsTooLong) {
  EXPECT_EQ(with_memory_kinds("system", kKinds, {}, 13), "system,vendor");
  EXPECT_EQ(with_memory_kinds("system", kKinds, {}, 12), "system");
}

TEST(Words, AreThoseOfTheLoadedBackends) {
  EXPECT_FALSE(is_supported("vendor"));
  EXPECT_TRUE(memory_kinds().empty());

  const tests::FakeBackend without(0);  // leaves the group out
  const tests::FakeBackend with(1);
  sluice_backend_t table = with.table();
  table.support_words = [] {
    static const char *const words[] = {"vendor", "other", nullptr};
    return static_cast<const char *const *>(words);
  };
  table.memory_kind_words = [] {
    static const char *const words[] = {"vendor", "vendor:device", nullptr};
    return static_cast<const char *const *>(words);
  };
  Status status;
  Registry &registry = Registry::process();
  registry.add(Backend::over_table(&without.table(), &status));
  ASSERT_TRUE(status.is_ok()) << status.message();
  registry.add(Backend::over_table(&table, &status));
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_TRUE(is_supported("vendor"));
  EXPECT_TRUE(is_supported("other"));
  EXPECT_FALSE(is_supported("vend"));
  EXPECT_EQ(memory_kinds(), (std::vector<std::string>{"vendor", "vendor:device"}));
  registry.clear();
  EXPECT_FALSE(is_supported("vendor"));
}

}  // namespace
}  // namespace sluice::device::memory_names_test
