// SPDX-License-Identifier: BSD-3-Clause
// Chooses this rank's device, and calls the module's kernels.
#include "apps/support/device.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "bench/cli/device_binding.hpp"
#include "bench/mpi/device_awareness.hpp"

namespace sluice::apps {
namespace {

const sluice_program_kernels_t *find_kernels(const bench::DeviceModule &module, const std::string &name) {
  const sluice_program_kernels_t *kernels = bench::find_program_kernels(module);
  if (kernels == nullptr) {
    throw DeviceError(fmt::format("the backend '{}' runs no kernels of applications: take another", name));
  }
  return kernels;
}

}  // namespace

Device::Device(const World &world, const DeviceOptions &options) {
  const std::string dir = options.module_dir.empty() ? bench::default_module_dir() : options.module_dir;
  world.agree(bench::error_of([&] {
    module_ = std::make_unique<bench::DeviceModule>(dir, options.module);
    kernels_ = find_kernels(*module_, options.module);
  }));
  choose(world, options.is_oversubscribed);
  const bench::DeviceAwareness aware = bench::query_device_awareness(options.module);
  awareness_ = aware.evidence;
  const bool is_taken = aware.is_aware || options.is_forced;
  world.agree(is_taken ? ""
                       : fmt::format("this MPI does not take {} device memory ({}): start the program with `sluice run "
                                     "-- mpiexec ...`, or give --force to try",
                                     options.module, aware.evidence));
}

// Collective.
void Device::choose(const World &world, bool is_oversubscribed) {
  const std::vector<bench::Seat> seats(static_cast<std::size_t>(world.n_local_ranks()), {true, -1});
  const std::vector<int> nodes(static_cast<std::size_t>(module_->n_devices()), -1);
  const bench::DeviceChoice choice = bench::choose_devices({}, seats, nodes);
  const bench::SharedDevice shared = bench::find_shared_device(seats, choice.devices);
  const bool is_refused = shared.n_ranks > 0 && !is_oversubscribed && !module_->is_made_of_cores(shared.device);
  world.agree(is_refused
                  ? fmt::format("{} ranks of {} would share device {} of {} ({} there): give --oversubscribe if "
                                "that is meant, or start fewer ranks",
                                shared.n_ranks, world.host(), shared.device, module_->name(), module_->n_devices())
                  : "");
  world.agree(
      bench::error_of([&] { module_->select(choice.devices.at(static_cast<std::size_t>(world.local_rank()))); }));
}

Stream::Stream(Device &device) : device_(device) {
  device_.module().require(device_.kernels().stream_create(&native_), "creation of a stream");
}

Stream::~Stream() {
  if (device_.kernels().stream_destroy(native_) != SLUICE_SUCCESS) {
    fmt::print(stderr, "a stream could not be destroyed: {}\n", device_.module().table().last_error());
  }
}

void Stream::launch_words(const sluice_program_kernel_t &kernel, std::uint64_t n_items, const std::uint64_t *words,
                          const std::uint64_t *size_bytes) {
  device_.module().require(device_.kernels().launch(native_, &kernel, n_items, words, size_bytes), kernel.name);
}

void check_graphs(const Device &device, const std::string &variant) {
  if (device.has_graphs()) return;
  throw AgreedError(fmt::format("{} captures what a stream is given into graphs, which the backend {} has not", variant,
                                device.module_name()));
}

void Stream::synchronize() {
  device_.module().require(device_.kernels().stream_synchronize(native_), "synchronisation of a stream");
}

}  // namespace sluice::apps
