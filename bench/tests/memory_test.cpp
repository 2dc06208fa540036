// SPDX-License-Identifier: BSD-3-Clause
// Message buffers and device modules, on the stub module beside the tests.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/memory/buffer.hpp"
#include "bench/memory/device_module.hpp"
#include "bench/memory/message_buffer.hpp"

namespace sluice::bench::memory_test {
namespace {

constexpr std::uint64_t kSize = 100;

DeviceModule stub() {
  DeviceModule module(SLUICE_BENCH_STUB_DIR, "stub");
  module.select(0);
  return module;
}

template <class Action>
std::string device_error(Action &&action) {
  try {
    action();
  } catch (const DeviceError &error) {
    return error.what();
  }
  return "no error";
}

TEST(MessageBuffer, IsRight_WhenUntouched) {
  DeviceModule module = stub();
  std::vector<std::byte> scratch;
  for (const auto kind : {SLUICE_MEMORY_HOST, SLUICE_MEMORY_DEVICE}) {
    MessageBuffer buffer(&module, kind, kSize);
    const Pattern pattern(0, 1, 2);
    buffer.fill(pattern, scratch);
    EXPECT_FALSE(buffer.verify(pattern, scratch).has_value());
    buffer.poison(pattern, scratch);
    EXPECT_EQ(buffer.verify(pattern, scratch).value_or(Mismatch{.offset = -1}).offset, 0);
  }
}

TEST(MessageBuffer, SeesEveryByte_OfMessageAndGuards) {
  std::vector<std::byte> scratch;
  MessageBuffer buffer(nullptr, SLUICE_MEMORY_HOST, kSize);
  const Pattern pattern(1, 0, 0);
  buffer.fill(pattern, scratch);
  const auto guard = static_cast<std::int64_t>(MessageBuffer::kGuardBytes);
  for (std::int64_t offset = -guard; offset < static_cast<std::int64_t>(kSize) + guard; ++offset) {
    std::byte &byte = buffer.data()[offset];
    byte ^= std::byte{0x10};
    const Mismatch wrong = buffer.verify(pattern, scratch).value_or(Mismatch{.offset = guard * 2});
    ASSERT_EQ(wrong.offset, offset);
    ASSERT_EQ(wrong.got ^ wrong.expected, std::byte{0x10});
    byte ^= std::byte{0x10};
  }
  EXPECT_FALSE(buffer.verify(pattern, scratch).has_value());
}

TEST(MessageBuffer, DescribesWhereTheByteIs) {
  EXPECT_EQ(describe({5, std::byte{0x3f}, std::byte{0}}, 10), "offset 5: expected 0x3f, got 0x00");
  EXPECT_EQ(describe({-1, std::byte{1}, std::byte{2}}, 10), "offset -1 (before the message): expected 0x01, got 0x02");
  EXPECT_EQ(describe({10, std::byte{1}, std::byte{2}}, 10), "offset 10 (behind the message): expected 0x01, got 0x02");
}

TEST(Buffer, RefusesWhatTheMachineCannotHold) {
  const std::uint64_t huge = std::uint64_t{1} << 60;
  EXPECT_NE(device_error([&] { Buffer::program_memory(nullptr, SLUICE_MEMORY_HOST, huge); }).find("does not fit"),
            std::string::npos);
  DeviceModule module = stub();
  EXPECT_NE(device_error([&] { Buffer::program_memory(&module, SLUICE_MEMORY_DEVICE, huge); }).find("device 0 has"),
            std::string::npos);
}

TEST(Buffer, IsAligned_WhenItsKindSaysSo) {
  DeviceModule module = stub();
  for (const auto kind : {SLUICE_STAGING_ALIGNED, SLUICE_STAGING_RUNTIME_ALIGNED}) {
    const Buffer buffer = Buffer::staging_memory(&module, kind, 5);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kPageBytes, 0U);
  }
}

TEST(DeviceModule, SaysWhatThereIs_WhenTheNameIsUnknown) {
  EXPECT_EQ(query_module_names(SLUICE_BENCH_STUB_DIR), std::vector<std::string>{"stub"});
  EXPECT_TRUE(query_module_names("/nowhere").empty());
  EXPECT_NE(device_error([] { DeviceModule(SLUICE_BENCH_STUB_DIR, "frob"); }).find("'frob'"), std::string::npos);
  EXPECT_NE(device_error([] { DeviceModule(SLUICE_BENCH_STUB_DIR, "frob"); }).find("there are stub"),
            std::string::npos);
  EXPECT_NE(device_error([] { DeviceModule("/nowhere", "frob"); }).find("there is none"), std::string::npos);
}

TEST(DeviceModule, NamesTheDevice) {
  const DeviceModule module = stub();
  EXPECT_STREQ(module.query_device(0).name, "stub device");
  EXPECT_NE(device_error([&] { (void)module.query_device(3); }).find("no device"), std::string::npos);
}

}  // namespace
}  // namespace sluice::bench::memory_test
