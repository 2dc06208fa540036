// SPDX-License-Identifier: BSD-3-Clause
// copy_ways: the ways by which small data can be copied between a device and host memory, beside each other, as the
// ISC'25 poster compares them for messages that the CPU stages. copy_list: many copies out of another process's device
// memory, in one list or one by one. Rank 0 measures.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/repeat_blocks.hpp"
#include "bench/memory/buffer.hpp"
#include "bench/memory/device_queue.hpp"
#include "bench/memory/message_buffer.hpp"
#include "bench/micro/sizes_on_root.hpp"
#include "bench/report/failure_text.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr Loop kUsual{.warmup = 200, .iterations = 1000};
constexpr std::uint64_t kCopies = 64;

// ---- copy_ways ----

struct Way {
  const char *name;
  sluice_staging_memory_t memory;
  void (*copy)(DeviceModule &module, DeviceQueue &queue, void *dst, const void *src, std::uint64_t size);
};

// The vendor's plain blocking copy, which a program would write.
void by_vendor(DeviceModule &module, DeviceQueue & /*queue*/, void *dst, const void *src, std::uint64_t size) {
  module.copy(dst, src, size);
}

// What the module found fastest for one copy and the wait for it.
void by_module(DeviceModule & /*module*/, DeviceQueue &queue, void *dst, const void *src, std::uint64_t size) {
  queue.copy(dst, src, size);
}

// A copy in a queue, a mark behind it, and the wait for the mark.
void by_mark(DeviceModule & /*module*/, DeviceQueue &queue, void *dst, const void *src, std::uint64_t size) {
  const sluice_copy_t piece{dst, src, size};
  queue.enqueue({&piece, 1});
  queue.wait();
}

constexpr std::array kWays{
    Way{"vendor.malloc", SLUICE_STAGING_MALLOC, by_vendor}, Way{"vendor.runtime", SLUICE_STAGING_RUNTIME, by_vendor},
    Way{"mark.malloc", SLUICE_STAGING_MALLOC, by_mark},     Way{"mark.runtime", SLUICE_STAGING_RUNTIME, by_mark},
    Way{"module.malloc", SLUICE_STAGING_MALLOC, by_module}, Way{"module.runtime", SLUICE_STAGING_RUNTIME, by_module}};

std::vector<std::string> way_names() {
  std::vector<std::string> names;
  for (const char *direction : {"h2d", "d2h"}) {
    for (const Way &way : kWays) names.push_back(fmt::format("{}.{}", direction, way.name));
  }
  return names;
}

// Sends a pattern up by `way` and down again; the first wrong byte as text.
std::string check_way(DeviceModule &module, DeviceQueue &queue, const Way &way, MessageBuffer &device,
                      const Buffer &host) {
  std::vector<std::byte> scratch;
  const std::uint64_t size = device.size_bytes();
  const Pattern pattern(0, 1, 0);
  const std::span<std::byte> bytes(host.data(), size);
  device.poison(pattern, scratch);
  pattern.fill(bytes);
  way.copy(module, queue, device.data(), host.data(), size);
  if (const auto wrong = device.verify(pattern, scratch)) {
    return fmt::format("{}: host to device, {}", way.name, describe(*wrong, size));
  }
  pattern.poison(bytes);
  way.copy(module, queue, host.data(), device.data(), size);
  const std::string wrong = pattern.find_error(bytes);
  return wrong.empty() ? "" : fmt::format("{}: device to host, {}", way.name, wrong);
}

Row measure_ways(Session &session, std::uint64_t size) {
  const Options &options = session.options();
  DeviceModule &module = *session.module();
  MessageBuffer device(&module, SLUICE_MEMORY_DEVICE, size);
  DeviceQueue queue(module);
  const Loop loop = chosen_loop(options, kUsual);
  Row row;
  row.size_bytes = size;
  row.check.n_iterations = options.check == CheckMode::none ? 0 : 1;
  std::vector<Buffer> hosts;
  for (const Way &way : kWays) {
    hosts.push_back(Buffer::staging_memory(&module, way.memory, size));
    if (row.check.n_iterations != 0) row.check.failure = check_way(module, queue, way, device, hosts.back());
    if (!row.check.failure.empty()) return row;
  }
  for (const std::string &name : way_names()) row.series.push_back({name, {}});
  row.stopped = repeat_blocks_alone(options, row.series, [&](std::uint64_t) {
    for (std::size_t i = 0; i < kWays.size(); ++i) {
      const auto time = [&](void *dst, const void *src) {
        return summarise(sample_us(loop, [&] { kWays[i].copy(module, queue, dst, src, size); }), options.percentiles);
      };
      row.series[i].blocks.push_back(time(device.data(), hosts[i].data()));
      row.series[kWays.size() + i].blocks.push_back(time(hosts[i].data(), device.data()));
    }
  });
  return row;
}

void run_ways(Session &session) {
  session.begin({way_names(), {}});
  measure_sizes_on_root(session, [&](std::uint64_t size) { return measure_ways(session, size); });
}

// ---- copy_list ----

// Device memory of the other process, mapped here.
class Mapping {
 public:
  Mapping(DeviceModule &module, const sluice_ipc_handle_t &handle) : module_(module) {
    std::uint64_t size_bytes = 0;
    module_.require(module_.table().ipc_open(module_.device(), &handle, &base_, &size_bytes), "mapping of memory");
  }
  ~Mapping() {
    if (module_.table().ipc_close(module_.device(), base_) != SLUICE_SUCCESS) {
      fmt::print(stderr, "sluice-bench: memory could not be unmapped: {}\n", module_.table().last_error());
    }
  }
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;

  const std::byte *base() const { return static_cast<const std::byte *>(base_); }

 private:
  DeviceModule &module_;
  void *base_ = nullptr;
};

struct Exported {
  sluice_ipc_handle_t handle{};
  std::uint64_t offset = 0;
};

// Block i to where block i belongs, in an order in which no two neighbours follow each other.
std::vector<sluice_copy_t> copies_of(std::byte *dst, const std::byte *src, std::uint64_t size) {
  constexpr std::uint64_t kStride = 37;
  std::vector<sluice_copy_t> copies;
  for (std::uint64_t i = 0; i < kCopies; ++i) {
    const std::uint64_t offset = i * kStride % kCopies * size;
    copies.push_back({dst + offset, src + offset, size});
  }
  return copies;
}

Row measure_list(Session &session, const Exported &exported, std::uint64_t size) {
  const Options &options = session.options();
  DeviceModule &module = *session.module();
  MessageBuffer into(&module, SLUICE_MEMORY_DEVICE, size * kCopies);
  const Mapping mapping(module, exported.handle);
  const std::vector<sluice_copy_t> copies = copies_of(into.data(), mapping.base() + exported.offset, size);
  DeviceQueue queue(module);
  const auto in_one_list = [&] {
    queue.enqueue(copies);
    queue.wait();
  };
  const auto one_by_one = [&] {
    for (const sluice_copy_t &copy : copies) queue.enqueue({&copy, 1});
    queue.wait();
  };
  const Pattern pattern(1, size, 0);
  std::vector<std::byte> scratch;
  const auto check = [&](const char *name, const auto &run) {
    into.poison(pattern, scratch);
    run();
    const auto wrong = into.verify(pattern, scratch);
    return wrong ? fmt::format("{}, {}", name, describe(*wrong, into.size_bytes())) : std::string();
  };
  Row row;
  row.size_bytes = size;
  row.check.n_iterations = options.check == CheckMode::none ? 0 : 1;
  if (row.check.n_iterations != 0) row.check.failure = check("list", in_one_list);
  if (row.check.n_iterations != 0 && row.check.failure.empty()) row.check.failure = check("one_by_one", one_by_one);
  if (!row.check.failure.empty()) return row;
  row.series = {{"one_by_one", {}}, {"list", {}}};
  const Loop loop = chosen_loop(options, kUsual);
  row.stopped = repeat_blocks_alone(options, row.series, [&](std::uint64_t) {
    row.series[0].blocks.push_back(summarise(sample_us(loop, one_by_one), options.percentiles));
    row.series[1].blocks.push_back(summarise(sample_us(loop, in_one_list), options.percentiles));
  });
  return row;
}

Exported export_filled(Session &session, MessageBuffer &memory, std::uint64_t size) {
  DeviceModule &module = *session.module();
  if (module.table().ipc_export == nullptr) {
    throw DeviceError(fmt::format("{} has no memory for other processes (group `ipc` of backend.h)", module.name()));
  }
  std::vector<std::byte> scratch;
  memory.fill(Pattern(1, size, 0), scratch);
  Exported exported;
  std::uint64_t bytes = memory.size_bytes();
  module.require(module.table().ipc_export(memory.data(), &exported.handle, &exported.offset, &bytes),
                 "export of memory");
  return exported;
}

// Rank 1's memory, copied by rank 0.
void run_list(Session &session) {
  session.begin({{"one_by_one", "list"}, {}});
  const World &world = session.world();
  for (const std::uint64_t size : session.options().sizes) {
    std::optional<MessageBuffer> memory;
    Exported exported;
    const std::string made = error_of([&] {
      if (world.is_root()) return;
      memory.emplace(session.module(), SLUICE_MEMORY_DEVICE, size * kCopies);
      exported = export_filled(session, *memory, size);
    });
    world.agree(text_with_size(size, made));
    check_mpi(MPI_Bcast(&exported, sizeof exported, MPI_BYTE, 1, world.communicator()), "MPI_Bcast");
    // Rank 1 keeps its memory until then.
    measure_size_on_root(session, size, [&](std::uint64_t) { return measure_list(session, exported, size); });
  }
}

const Registration ways_test({.name = "copy_ways",
                              .title = "ways to copy between a device and host memory, without a message, on rank 0",
                              .family = Family::micro,
                              .metric = Metric::copy_us,
                              .min_ranks = 1,
                              .max_ranks = 0,
                              .min_size = 1,
                              .has_placement = false,
                              .needs_device = true,
                              .run = run_ways});

const Registration list_test({.name = "copy_list",
                              .title = "64 copies out of rank 1's device memory, one by one and in one list, on rank 0",
                              .family = Family::micro,
                              .metric = Metric::copy_us,
                              .min_ranks = 2,
                              .max_ranks = 2,
                              .min_size = 1,
                              .has_placement = false,
                              .needs_device = true,
                              .run = run_list});

}  // namespace
}  // namespace sluice::bench
