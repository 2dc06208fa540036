// SPDX-License-Identifier: BSD-3-Clause
// Sets a run up: ranks, devices, report.
#include "bench/session.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "bench/measure/sampling.hpp"
#include "bench/mpi/device_awareness.hpp"

namespace sluice::bench {

Session::Session(const Options &options, const World &world, Report &report, std::vector<std::string> command)
    : options_(options), world_(world), report_(report) {
  run_.command = std::move(command);
  require_ranks();
  world_.agree(report_.open());
  if (options_.test->needs_device) {
    memory_ = world_.is_root() ? SLUICE_MEMORY_DEVICE : SLUICE_MEMORY_HOST;
  } else {
    memory_ = options_.placement.at(static_cast<std::size_t>(world_.rank()));
  }
  world_.agree(error_of([this] { bind_device(); }));
  require_awareness();
}

void Session::require_ranks() const {
  const int wanted = options_.test->n_ranks;
  if (wanted != 0 && world_.n_ranks() != wanted) {
    throw AgreedError(fmt::format("{} needs exactly {} ranks, and this run has {}: start it with mpiexec -n {}",
                                  options_.test->name, wanted, world_.n_ranks(), wanted));
  }
}

void Session::bind_device() {
  if (memory_ == SLUICE_MEMORY_HOST) {
    return;
  }
  const std::string dir = options_.module_dir.empty() ? default_module_dir() : options_.module_dir;
  module_.emplace(dir, options_.device);
  module_->select(world_.local_rank() % module_->n_devices());
}

void Session::require_awareness() {
  std::string refusal;
  if (memory_ == SLUICE_MEMORY_DEVICE && options_.route != Route::naive && options_.test->has_placement) {
    const DeviceAwareness awareness = query_device_awareness(options_.device);
    if (!awareness.is_aware && !options_.is_forced) {
      refusal = fmt::format(
          "this MPI does not take {} device memory ({}): run below a library that makes it, give --naive to stage by "
          "hand, or --force to try",
          options_.device, awareness.evidence);
    }
    run_.notes.push_back("device memory: " + awareness.evidence);
  }
  world_.agree(refusal);
}

std::string Session::describe_rank() const {
  nlohmann::json about = {{"rank", world_.rank()},
                          {"host", world_.host()},
                          {"local_rank", world_.local_rank()},
                          {"memory", memory_name(memory_)}};
  if (module_) {
    const sluice_device_info_t info = module_->query_device(module_->device());
    about["device"] = {
        {"module", module_->name()},        {"index", module_->device()},      {"name", info.name},
        {"runtime", info.runtime},          {"pci_address", info.pci_address}, {"numa_node", info.numa_node},
        {"memory_bytes", info.memory_bytes}};
  }
  return about.dump();
}

std::vector<std::string> Session::describe_sharing(const nlohmann::json &ranks) const {
  std::map<std::pair<std::string, int>, std::vector<int>> users;
  for (const nlohmann::json &about : ranks) {
    if (about.contains("device")) {
      users[{about.at("host"), about.at("device").at("index")}].push_back(about.at("rank"));
    }
  }
  std::vector<std::string> notes;
  for (const auto &[place, sharing] : users) {
    if (sharing.size() > 1) {
      notes.push_back(
          fmt::format("{} ranks share device {} {} of {}", sharing.size(), options_.device, place.second, place.first));
    }
  }
  return notes;
}

void Session::begin(const std::vector<std::string> &series_names) {
  std::string about;
  world_.agree(error_of([&] { about = describe_rank(); }));
  run_.ranks = nlohmann::json::array();
  for (const std::string &text : world_.gather(about)) {
    run_.ranks.push_back(nlohmann::json::parse(text));
  }
  for (std::string &note : describe_sharing(run_.ranks)) {
    run_.notes.push_back(std::move(note));
  }
  run_.mpi_library = world_.library_version();
  run_.mpi_standard = world_.standard_version();
  run_.clock_cost_ns = clock_cost_ns();
  report_.begin(run_, series_names);
}

void Session::add(Row row) {
  const std::string failure = row.check.failure;
  report_.add(std::move(row));
  if (!failure.empty()) {
    throw AgreedError(failure);
  }
}

}  // namespace sluice::bench
