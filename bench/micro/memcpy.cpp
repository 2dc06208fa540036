// SPDX-License-Identifier: BSD-3-Clause
// memcpy: the time of the vendor's plain blocking copy between a device and host memory of four kinds, both ways;
// figure 4 of the CCGrid'23 paper (mean of 1000 copies after 200 warm-ups).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/repeat_blocks.hpp"
#include "bench/memory/buffer.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/micro/sizes_on_root.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t kWarmup = 200;
constexpr std::uint64_t kIterations = 1000;

struct Staging {
  sluice_staging_memory_t kind;
  const char *name;
};
constexpr std::array kStagings{Staging{SLUICE_STAGING_MALLOC, "malloc"}, Staging{SLUICE_STAGING_ALIGNED, "aligned"},
                               Staging{SLUICE_STAGING_RUNTIME, "runtime"},
                               Staging{SLUICE_STAGING_RUNTIME_ALIGNED, "runtime_aligned"}};

std::vector<std::string> series_names() {
  std::vector<std::string> names;
  for (const char *direction : {"h2d", "d2h"}) {
    for (const Staging &staging : kStagings) {
      names.push_back(fmt::format("{}.{}", direction, staging.name));
    }
  }
  return names;
}

// Sends a pattern up through `host` and down again; the first wrong byte as text.
std::string check_copies(DeviceModule &module, MessageBuffer &device, const Buffer &host, std::uint64_t iteration,
                         std::vector<std::byte> &scratch) {
  const std::uint64_t size = device.size_bytes();
  const Pattern pattern(0, iteration, 0);
  const std::span<std::byte> bytes(host.data(), size);
  device.poison(pattern, scratch);
  pattern.fill(bytes);
  module.copy(device.data(), host.data(), size);
  if (const std::string wrong = device.find_error(pattern, scratch); !wrong.empty()) {
    return fmt::format("host to device, {}", wrong);
  }
  pattern.poison(bytes);
  module.copy(host.data(), device.data(), size);
  const std::string wrong = pattern.find_error(bytes);
  return wrong.empty() ? "" : fmt::format("device to host, {}", wrong);
}

class MemcpySweep {
 public:
  explicit MemcpySweep(Session &session) : options_(session.options()), module_(*session.module()) {}

  Row measure(std::uint64_t size) {
    MessageBuffer device(&module_, SLUICE_MEMORY_DEVICE, size);
    Row row;
    row.size_bytes = size;
    const Loop loop = chosen_loop(options_, {.warmup = kWarmup, .iterations = kIterations});
    row.check.n_iterations = checked_iterations(options_.check, loop.iterations);
    std::vector<Buffer> hosts;
    for (const Staging &staging : kStagings) {
      hosts.push_back(Buffer::staging_memory(&module_, staging.kind, size));
      row.check.failure = check(device, hosts.back(), staging.name, row.check.n_iterations);
      if (!row.check.failure.empty()) {
        return row;
      }
    }
    for (const std::string &name : series_names()) {
      row.series.push_back({name, {}});
    }
    row.stopped = repeat_blocks_alone(options_, row.series, [&](std::uint64_t) {
      for (std::size_t i = 0; i < hosts.size(); ++i) {
        row.series[i].blocks.push_back(time(loop, device.data(), hosts[i].data(), size));
        row.series[hosts.size() + i].blocks.push_back(time(loop, hosts[i].data(), device.data(), size));
      }
    });
    return row;
  }

 private:
  std::string check(MessageBuffer &device, const Buffer &host, const char *name, std::uint64_t n_iterations) {
    for (std::uint64_t iteration = 0; iteration < n_iterations; ++iteration) {
      const std::string wrong = check_copies(module_, device, host, iteration, scratch_);
      if (!wrong.empty()) {
        return text_with_iteration(device.size_bytes(), iteration, fmt::format("{} memory, {}", name, wrong));
      }
    }
    return "";
  }

  Summary time(const Loop &loop, void *dst, const void *src, std::uint64_t size) {
    module_.synchronize();
    return summarise(sample_us(loop, [&] { module_.copy(dst, src, size); }), options_.percentiles);
  }

  const Options &options_;
  DeviceModule &module_;
  std::vector<std::byte> scratch_;
};

void run_memcpy(Session &session) {
  session.begin({series_names(), {}});
  measure_sizes_on_root(session, [&](std::uint64_t size) { return MemcpySweep(session).measure(size); });
}

const Registration memcpy_test({.name = "memcpy",
                                .title = "copies between a device and the four staging memories, on rank 0",
                                .family = Family::micro,
                                .metric = Metric::copy_us,
                                .min_ranks = 1,
                                .max_ranks = 0,
                                .min_size = 1,
                                .has_placement = false,
                                .needs_device = true,
                                .run = run_memcpy});

}  // namespace

}  // namespace sluice::bench
