// SPDX-License-Identifier: BSD-3-Clause
// device_reduce: the device's sum of two arrays of floats in its own memory, beside its copy of one, from the
// submission to the moment at which the CPU has seen the end. Rank 0 measures.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/repeat_blocks.hpp"
#include "bench/memory/device_queue.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/micro/sizes_on_root.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr Loop kUsual{.warmup = 20, .iterations = 100};
constexpr std::uint64_t kSources = 2;

// Small whole numbers, whose sums are exact.
float number(std::uint64_t i, std::uint64_t source) {
  return static_cast<float>((i * 31 + source * 17) % 1000);
}

void write_numbers(std::span<std::byte> bytes, std::uint64_t source) {
  for (std::uint64_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    const float value = number(i, source);
    std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof(float));
  }
}

std::string find_wrong_sum(std::span<const std::byte> bytes) {
  for (std::uint64_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    float got = 0;
    std::memcpy(&got, bytes.data() + i * sizeof(float), sizeof(float));
    const float wanted = number(i, 0) + number(i, 1);
    if (got != wanted) return fmt::format("number {} is {} instead of {}", i, got, wanted);
  }
  return "";
}

// What moves through the device's memory, in GB/s.
double moved_gb_s(double us, std::uint64_t size, std::uint64_t n_arrays) {
  return us > 0 ? static_cast<double>(size * n_arrays) / us / 1e3 : 0;
}

Row measure(Session &session, std::uint64_t asked_size) {
  const Options &options = session.options();
  DeviceModule &module = *session.module();
  const std::uint64_t size = asked_size / sizeof(float) * sizeof(float);
  MessageBuffer first(&module, SLUICE_MEMORY_DEVICE, size);
  MessageBuffer second(&module, SLUICE_MEMORY_DEVICE, size);
  MessageBuffer result(&module, SLUICE_MEMORY_DEVICE, size);
  std::vector<std::byte> scratch;
  first.store([](std::span<std::byte> bytes) { write_numbers(bytes, 0); }, scratch);
  second.store([](std::span<std::byte> bytes) { write_numbers(bytes, 1); }, scratch);
  result.store([](std::span<std::byte> bytes) { write_numbers(bytes, 2); }, scratch);
  DeviceQueue queue(module);
  const std::array<const void *, kSources> sources = {first.data(), second.data()};
  void *const dst = result.data();
  const sluice_reduction_t sum = {
      SLUICE_ELEMENT_FLOAT32, SLUICE_OPERATION_SUM, &dst, sources.data(), 1, kSources, size / sizeof(float), 0, 0};
  const sluice_copy_t copy = {result.data(), first.data(), size};
  const auto reduce = [&] {
    queue.enqueue(sum);
    queue.wait();
  };
  Row row;
  row.size_bytes = size;
  row.check.n_iterations = options.check == CheckMode::none ? 0 : 1;
  if (row.check.n_iterations != 0) {
    reduce();
    row.check.failure = result.examine_on_host(find_wrong_sum, scratch);
    if (!row.check.failure.empty()) return row;
  }
  const Loop loop = chosen_loop(options, kUsual);
  const auto time = [&](auto body) { return summarise(sample_us(loop, body), options.percentiles); };
  row.series = {{"reduce", {}}, {"copy", {}}};
  row.stopped = repeat_blocks_alone(options, row.series, [&](std::uint64_t) {
    row.series[0].blocks.push_back(time(reduce));
    row.series[1].blocks.push_back(time([&] {
      queue.enqueue({&copy, 1});
      queue.wait();
    }));
  });
  row.extras = {moved_gb_s(row.series[0].blocks.front().median, size, kSources + 1),
                moved_gb_s(row.series[1].blocks.front().median, size, 2)};
  return row;
}

void run(Session &session) {
  session.begin({{"reduce", "copy"}, {{"reduce_gb_s", "Reduce GB/s"}, {"copy_gb_s", "Copy GB/s"}}});
  measure_sizes_on_root(session, [&](std::uint64_t size) { return measure(session, size); });
}

const Registration device_reduce({.name = "device_reduce",
                                  .title = "the device's sum of two arrays beside its copy of one, on rank 0",
                                  .family = Family::micro,
                                  .metric = Metric::copy_us,
                                  .min_ranks = 1,
                                  .max_ranks = 0,
                                  .min_size = sizeof(float),
                                  .has_placement = false,
                                  .needs_device = true,
                                  .run = run});

}  // namespace
}  // namespace sluice::bench
