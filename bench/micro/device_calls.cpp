// SPDX-License-Identifier: BSD-3-Clause
// launch, event, synchronize, query_pointer, ipc_export, ipc_open: what single calls of a device's runtime cost,
// without a message, as the device module makes them. Rank 0 measures. trigger: trigger.cpp.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/catalogue.hpp"
#include "bench/measure/chosen_loop.hpp"
#include "bench/measure/repeat_blocks.hpp"
#include "bench/memory/buffer.hpp"
#include "bench/memory/device_queue.hpp"
#include "bench/micro/sizes_on_root.hpp"
#include "bench/session.hpp"

namespace sluice::bench {
namespace {

constexpr Loop kUsual{.warmup = 200, .iterations = 1000};
constexpr std::uint64_t kSmallBytes = 8;
constexpr std::uint64_t kAllocationBytes = std::uint64_t{1} << 20;

// Times `body` alone; `after` follows each call untimed.
template <class Body, class After>
std::vector<double> sample_apart(const Loop &loop, Body body, After after) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> samples;
  samples.reserve(loop.iterations);
  for (std::uint64_t i = 0; i < loop.warmup + loop.iterations; ++i) {
    const auto start = Clock::now();
    body();
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    after();
    if (i >= loop.warmup) {
      samples.push_back(took.count());
    }
  }
  return samples;
}

using Measure = std::function<std::vector<double>(DeviceModule &, const Loop &)>;

// The call that hands the device work returns: one copy of eight bytes within its memory.
std::vector<double> launch(DeviceModule &module, const Loop &loop) {
  DeviceQueue queue(module);
  const Buffer memory = Buffer::program_memory(&module, SLUICE_MEMORY_DEVICE, 2 * kSmallBytes);
  const std::array copies{sluice_copy_t{memory.data(), memory.data() + kSmallBytes, kSmallBytes}};
  return sample_apart(loop, [&] { queue.enqueue(copies); }, [&] { queue.wait(); });
}

// A mark at the end of an idle queue, and the wait for it.
std::vector<double> event(DeviceModule &module, const Loop &loop) {
  DeviceQueue queue(module);
  return sample_us(loop, [&] { queue.wait(); });
}

std::vector<double> synchronize(DeviceModule &module, const Loop &loop) {
  return sample_us(loop, [&] { module.synchronize(); });
}

std::vector<double> query_pointer(DeviceModule &module, const Loop &loop) {
  const Buffer memory = Buffer::program_memory(&module, SLUICE_MEMORY_DEVICE, kSmallBytes);
  sluice_pointer_info_t info{};
  std::vector<double> samples = sample_us(
      loop, [&] { module.require(module.table().query_pointer(memory.data(), &info), "query of a pointer"); });
  if (info.kind != SLUICE_MEMORY_DEVICE) {
    throw DeviceError(
        fmt::format("{}: its own device memory is said to be of kind {}", module.name(), static_cast<int>(info.kind)));
  }
  return samples;
}

sluice_ipc_handle_t export_memory(DeviceModule &module, const Buffer &memory) {
  if (module.table().ipc_export == nullptr) {
    throw DeviceError(fmt::format("{} has no memory for other processes (group `ipc` of backend.h)", module.name()));
  }
  sluice_ipc_handle_t handle{};
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = memory.size_bytes();
  module.require(module.table().ipc_export(memory.data(), &handle, &offset, &size_bytes), "export of memory");
  return handle;
}

std::vector<double> ipc_export(DeviceModule &module, const Loop &loop) {
  const Buffer memory = Buffer::program_memory(&module, SLUICE_MEMORY_DEVICE, kAllocationBytes);
  return sample_us(loop, [&] { export_memory(module, memory); });
}

// Mapping memory of another process, once each way; unmapped after each, untimed.
std::vector<double> open_handle(DeviceModule &module, const Loop &loop, const sluice_ipc_handle_t &handle) {
  void *base = nullptr;
  std::uint64_t mapped_bytes = 0;
  return sample_apart(
      loop,
      [&] {
        module.require(module.table().ipc_open(module.device(), &handle, &base, &mapped_bytes), "mapping of memory");
      },
      [&] { module.require(module.table().ipc_close(module.device(), base), "unmapping of memory"); });
}

void run_call(Session &session, const std::string &name, const Measure &measure) {
  measure_size_on_root(session, 0, [&](std::uint64_t) {
    const Options &options = session.options();
    Row row;
    row.series.push_back({name, {}});
    row.stopped = repeat_blocks_alone(options, row.series, [&](std::uint64_t) {
      const std::vector<double> samples = measure(*session.module(), chosen_loop(options, kUsual));
      row.series.front().blocks.push_back(summarise(samples, options.percentiles));
    });
    return row;
  });
}

// Rank 1's memory, mapped by rank 0.
void run_ipc_open(Session &session) {
  const World &world = session.world();
  session.begin({{"ipc_open"}, {}});
  std::optional<Buffer> memory;
  sluice_ipc_handle_t handle{};
  world.agree(error_of([&] {
    memory.emplace(Buffer::program_memory(session.module(), SLUICE_MEMORY_DEVICE, kAllocationBytes));
    handle = export_memory(*session.module(), *memory);
  }));
  check_mpi(MPI_Bcast(&handle, sizeof handle, MPI_BYTE, 1, world.communicator()), "MPI_Bcast");
  run_call(session, "ipc_open",
           [&](DeviceModule &module, const Loop &loop) { return open_handle(module, loop, handle); });
}

TestInfo call_test(const std::string &name, const std::string &title) {
  return {.name = name,
          .title = title,
          .family = Family::micro,
          .min_ranks = 1,
          .max_ranks = 0,
          .has_sizes = false,
          .has_placement = false,
          .needs_device = true};
}

struct CallRegistration {
  CallRegistration(const std::string &name, const std::string &title, Measure measure) {
    TestInfo info = call_test(name, title + ", without a message, on rank 0");
    info.run = [name, measure = std::move(measure)](Session &session) {
      session.begin({{name}, {}});
      run_call(session, name, measure);
    };
    Registration(std::move(info));
  }
};

const CallRegistration launch_test("launch", "handing a device one small copy, until the call returns", launch);
const CallRegistration event_test("event", "a mark at the end of an idle queue, and the wait for it", event);
const CallRegistration synchronize_test("synchronize", "waiting for a device that is idle", synchronize);
const CallRegistration query_test("query_pointer", "asking what kind of memory an address is", query_pointer);
const CallRegistration export_test("ipc_export", "making a handle of 1 MiB of device memory", ipc_export);

const Registration ipc_open_test([] {
  TestInfo info = call_test("ipc_open", "mapping 1 MiB of rank 1's device memory, on rank 0");
  info.min_ranks = 2;
  info.max_ranks = 2;
  info.run = run_ipc_open;
  return info;
}());

}  // namespace
}  // namespace sluice::bench
