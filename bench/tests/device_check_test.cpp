// SPDX-License-Identifier: BSD-3-Clause
// The check that a device makes of its own memory, on the stub module: what a kernel computes is what the host writes,
// every byte is seen, and a kernel that is wrong is no check.
#include "bench/memory/device_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/cli/derived_type.hpp"
#include "bench/memory/device_module.hpp"
#include "bench/memory/device_work.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/memory/message_layout.hpp"
#include "bench/memory/numbers.hpp"
#include "check.hpp"

namespace sluice::bench::device_check_test {
namespace {

DeviceModule stub() {
  DeviceModule module(SLUICE_BENCH_STUB_DIR, "stub");
  module.select(0);
  return module;
}

// One setting of the environment, undone at the end.
class Setting {
 public:
  Setting(const char *name, const char *value) : name_(name) { ::setenv(name, value, 1); }
  Setting(const Setting &) = delete;
  Setting &operator=(const Setting &) = delete;
  ~Setting() { ::unsetenv(name_); }

 private:
  const char *name_;
};

std::vector<std::byte> computed(const sluice_check_source_t &source, std::size_t size_bytes) {
  std::vector<std::byte> bytes(size_bytes + sizeof(std::uint64_t));
  for (std::size_t offset = 0; offset < size_bytes; offset += sizeof(std::uint64_t)) {
    const std::uint64_t word = kernels::expected_word(source, offset / sizeof(std::uint64_t));
    std::memcpy(&bytes[offset], &word, sizeof word);
  }
  bytes.resize(size_bytes);
  return bytes;
}

TEST(DeviceCheck, ComputesWhatTheHostWrites) {
  constexpr std::size_t kBytes = 8000;
  std::vector<std::byte> written(kBytes);
  for (const std::uint64_t iteration : {0U, 1U, 1000U}) {
    const Pattern pattern(5, iteration, 12);
    pattern.fill(written);
    EXPECT_EQ(computed(pattern.source(), kBytes), written);
    for (const ElementType type :
         {ElementType::bytes, ElementType::int32, ElementType::int64, ElementType::float32, ElementType::float64}) {
      for (const Operation operation : {Operation::sum, Operation::max, Operation::min}) {
        for (const Contributors ranks : {Contributors{2, 1, 3}, Contributors{0, 7, 7}, Contributors{1, 40, 100}}) {
          const Numbers numbers(type, operation, ranks, iteration);
          numbers.fill(written, 0);
          EXPECT_EQ(computed(numbers.source(), kBytes), written) << word_of(type) << " " << word_of(operation);
        }
      }
    }
  }
}

// Of the message, the guards, and the gaps of a derived type.
TEST(DeviceCheck, SeesEveryByte_OfMessageAndGuards) {
  DeviceModule module = stub();
  ASSERT_EQ(prove_device_check(module), "");
  std::vector<std::byte> scratch;
  for (const char *word : {"contiguous", "hindexed", "struct"}) {
    for (const bool is_on_device : {true, false}) {
      module.check_on_device(is_on_device);
      const MessageLayout layout = layout_of(parse_derived_type(word), 256);
      std::uint64_t end = 0;
      for (const Piece &piece : layout.pieces) end = std::max(end, piece.offset + piece.size_bytes);
      MessageBuffer buffer(&module, SLUICE_MEMORY_DEVICE, layout);
      const Pattern pattern(1, 2, 3);
      buffer.fill(pattern, scratch);
      ASSERT_EQ(buffer.find_error(pattern, scratch), "") << word;
      const auto guard = static_cast<std::int64_t>(MessageBuffer::kGuardBytes);
      for (std::int64_t at = -guard; at < static_cast<std::int64_t>(end) + guard; ++at) {
        buffer.data()[at] ^= std::byte{1};
        ASSERT_NE(buffer.find_error(pattern, scratch), "") << word << " " << at;
        buffer.data()[at] ^= std::byte{1};
      }
      EXPECT_NE(buffer.find_error(Pattern(1, 3, 3), scratch), "") << word;
    }
  }
}

std::string thrown_by_proof() {
  DeviceModule module = stub();
  try {
    return "nothing, but \"" + prove_device_check(module) + '"';
  } catch (const DeviceError &error) {
    return error.what();
  }
}

TEST(DeviceCheck, IsNone_WhenTheKernelIsWrong) {
  {
    const Setting blind("SLUICE_STUB_CHECK", "blind");
    EXPECT_NE(thrown_by_proof().find("it saw none where there is a wrong byte at"), std::string::npos);
  }
  {
    const Setting idle("SLUICE_STUB_CHECK", "idle");
    EXPECT_NE(thrown_by_proof().find("compared 0 of"), std::string::npos);
  }
  const Setting none("SLUICE_STUB_CHECK", "none");
  EXPECT_EQ(thrown_by_proof(), "nothing, but \"the stub has no such kernel\"");
}

TEST(DeviceCheck, FindsTheLowestByte_WhenSegmentsBeginAnywhere) {
  DeviceModule module = stub();
  for (std::uint64_t begin = 0; begin < 9; ++begin) {
    for (std::uint64_t position = 0; position < 9; ++position) {
      std::vector<std::byte> all(64 + position);
      const Pattern pattern(1, 2, 3);
      pattern.fill(all);
      std::vector<std::byte> memory(begin + 64);
      std::memcpy(&memory[begin], &all[position], 64);
      CheckPlan plan;
      plan.add(begin, 64, plan.add_source(pattern.source()), position);
      ASSERT_EQ(find_wrong_byte(module, memory.data(), memory.size(), plan), std::nullopt);
      for (std::uint64_t at = begin; at < memory.size(); ++at) {
        memory[at] ^= std::byte{8};
        ASSERT_EQ(find_wrong_byte(module, memory.data(), memory.size(), plan), at);
        memory[at] ^= std::byte{8};
      }
    }
  }
}

std::string thrown_by_work() {
  DeviceModule module = stub();
  try {
    DeviceWork work(module);
    const std::uint64_t longer = work.amount_of(2e6);
    EXPECT_GT(longer, work.amount_of(1e6));
    EXPECT_EQ(work.amount_of(0), 0U);
    work.start(work.amount_of(10));
    work.finish();
  } catch (const DeviceError &error) {
    return error.what();
  }
  return "nothing";
}

TEST(DeviceWork, IsNone_WhenTheKernelDoesNothing) {
  EXPECT_EQ(thrown_by_work(), "nothing");
  {
    const Setting idle("SLUICE_STUB_WORK", "idle");
    EXPECT_NE(thrown_by_work().find("the kernel that computes is wrong: it left"), std::string::npos);
  }
  const Setting none("SLUICE_STUB_WORK", "none");
  EXPECT_NE(thrown_by_work().find("the stub has no kernel that computes"), std::string::npos);
}

TEST(DeviceModule, TellsMemoryInUse) {
  DeviceModule module = stub();
  const std::uint64_t before = module.query_memory_in_use().value();
  {
    const Buffer memory = Buffer::program_memory(&module, SLUICE_MEMORY_DEVICE, 1000);
    EXPECT_EQ(module.query_memory_in_use().value(), before + 1000);
  }
  EXPECT_EQ(module.query_memory_in_use().value(), before);
}

}  // namespace
}  // namespace sluice::bench::device_check_test
