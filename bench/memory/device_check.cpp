// SPDX-License-Identifier: BSD-3-Clause
// Memory that a kernel of its own device looks at.
#include "bench/memory/device_check.hpp"

#include <fmt/format.h>

#include "bench/memory/buffer.hpp"
#include "bench/memory/device_module.hpp"
#include "bench/memory/numbers.hpp"
#include "bench/memory/pattern.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kWordBytes = 8;

// A sample of each sort of data, one behind the other, with sizes that end within words and begin at any byte.
struct Sample {
  std::vector<std::byte> bytes;
  CheckPlan plan;
  std::vector<std::uint64_t> places;  // of a byte in each, and of the last one of all

  template <class Fill>
  void add(std::uint64_t gap_bytes, std::uint64_t size_bytes, const sluice_check_source_t &source, const Fill &fill) {
    const std::uint64_t begin = bytes.size() + gap_bytes;
    bytes.resize(begin + size_bytes);
    fill(std::span(bytes).subspan(begin, size_bytes));
    plan.add(begin, size_bytes, plan.add_source(source), 0);
    places.push_back(begin + size_bytes / 2);
  }
};

Sample make_sample() {
  constexpr std::uint64_t kPatternBytes = 1021;
  constexpr std::uint64_t kElements = 67;
  constexpr Contributors kRanks{1, 3, 5};
  Sample sample;
  for (const std::uint64_t gap : {0U, 3U}) {
    const Pattern pattern(3, 7, gap);
    sample.add(gap, kPatternBytes, pattern.source(), [&](std::span<std::byte> bytes) { pattern.fill(bytes); });
  }
  for (const ElementType type :
       {ElementType::bytes, ElementType::int32, ElementType::int64, ElementType::float32, ElementType::float64}) {
    for (const Operation operation : {Operation::sum, Operation::max, Operation::min}) {
      const Numbers numbers(type, operation, kRanks, 11);
      sample.add(1, kElements * element_bytes(type), numbers.source(),
                 [&](std::span<std::byte> bytes) { numbers.fill(bytes, 0); });
    }
  }
  sample.places.push_back(sample.bytes.size() - 1);
  return sample;
}

std::string describe(const std::optional<std::uint64_t> &place) {
  return place ? fmt::format("a wrong byte at {}", *place) : "none";
}

void require(const DeviceModule &module, const std::optional<std::uint64_t> &found,
             const std::optional<std::uint64_t> &expected) {
  if (found != expected) {
    throw DeviceError(
        fmt::format("{}: the kernel that checks data is wrong, or a copy: it saw {} where there is {}: give "
                    "--check-on host, and mend the module",
                    module.name(), describe(found), describe(expected)));
  }
}

}  // namespace

std::uint32_t CheckPlan::add_source(const sluice_check_source_t &source) {
  sources_.push_back(source);
  return static_cast<std::uint32_t>(sources_.size() - 1);
}

void CheckPlan::add(std::uint64_t begin, std::uint64_t size_bytes, std::uint32_t source, std::uint64_t position) {
  if (size_bytes == 0) {
    return;
  }
  segments_.push_back({begin, size_bytes, position, n_words_, source, 0});
  n_words_ += (position + size_bytes - 1) / kWordBytes - position / kWordBytes + 1;
  n_bytes_ += size_bytes;
}

sluice_memory_check_t CheckPlan::over(const void *memory, std::uint64_t size_bytes) const {
  return {memory,          size_bytes, sources_.data(), segments_.data(), static_cast<std::uint32_t>(sources_.size()),
          segments_.size()};
}

std::optional<std::uint64_t> find_wrong_byte(const DeviceModule &module, const void *memory, std::uint64_t size_bytes,
                                             const CheckPlan &plan) {
  const sluice_memory_check_t check = plan.over(memory, size_bytes);
  sluice_check_finding_t finding{};
  module.require(module.probe()->check_memory(&check, &finding), "check of memory");
  if (finding.n_bytes_checked != plan.n_bytes()) {
    throw DeviceError(fmt::format("{}: the kernel that checks data compared {} of {} bytes", module.name(),
                                  finding.n_bytes_checked, plan.n_bytes()));
  }
  return finding.first_wrong == UINT64_MAX ? std::nullopt : std::optional(finding.first_wrong);
}

std::string prove_device_check(DeviceModule &module) {
  if (module.probe() == nullptr || module.probe()->check_memory == nullptr) {
    return fmt::format("device module '{}' has no kernel that checks data", module.name());
  }
  Sample sample = make_sample();
  const Buffer memory = Buffer::program_memory(&module, SLUICE_MEMORY_DEVICE, sample.bytes.size());
  module.copy(memory.data(), sample.bytes.data(), sample.bytes.size());
  const sluice_memory_check_t check = sample.plan.over(memory.data(), sample.bytes.size());
  sluice_check_finding_t finding{};
  const sluice_result_t result = module.probe()->check_memory(&check, &finding);
  if (result == SLUICE_ERROR_UNSUPPORTED) {
    return module.table().last_error();
  }
  module.require(result, "check of memory");
  require(module, find_wrong_byte(module, memory.data(), sample.bytes.size(), sample.plan), std::nullopt);
  for (std::size_t i = 0; i < sample.places.size(); ++i) {
    const std::uint64_t place = sample.places[i];
    const std::byte wrong = sample.bytes[place] ^ static_cast<std::byte>(1U << (i % 8));
    module.copy(memory.data() + place, &wrong, 1);
    require(module, find_wrong_byte(module, memory.data(), sample.bytes.size(), sample.plan), place);
    module.copy(memory.data() + place, &sample.bytes[place], 1);
  }
  return "";
}

}  // namespace sluice::bench
