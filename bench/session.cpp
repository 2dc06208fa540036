// SPDX-License-Identifier: BSD-3-Clause
// Sets a run up: ranks, devices, report.
#include "bench/session.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "bench/measure/sampling.hpp"
#include "bench/mpi/device_awareness.hpp"
#include "bench/report/report.hpp"

namespace sluice::bench {
namespace {

std::vector<std::string> describe_sharing(const std::string &module, const nlohmann::json &ranks) {
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
          fmt::format("{} ranks share device {} {} of {}", sharing.size(), module, place.second, place.first));
    }
  }
  return notes;
}

std::string wanted_ranks(const TestInfo &test) {
  if (test.max_ranks == test.min_ranks) {
    return fmt::format("exactly {} ranks", test.min_ranks);
  }
  return fmt::format("at least {} {}{}", test.min_ranks, test.min_ranks == 1 ? "rank" : "ranks",
                     test.is_paired ? ", an even number," : "");
}

}  // namespace

Session::Session(const Options &options, const World &world, Report &report, std::vector<std::string> command)
    : options_(options), world_(world), report_(report), run_(std::make_unique<RunRecord>()) {
  run_->command = std::move(command);
  require_ranks();
  world_.agree(report_.open());
  choose_memory();
  world_.agree(error_of([this] { bind_device(); }));
  require_awareness();
}

Session::~Session() = default;

void Session::require_ranks() const {
  const TestInfo &test = *options_.test;
  const int n = world_.n_ranks();
  if (n < test.min_ranks || (test.max_ranks != 0 && n > test.max_ranks) || (test.is_paired && n % 2 != 0)) {
    throw AgreedError(fmt::format("{} needs {}, and this run has {}: start it with mpiexec -n {}", test.name,
                                  wanted_ranks(test), n, test.min_ranks));
  }
}

void Session::choose_memory() {
  const TestInfo &test = *options_.test;
  if (test.needs_device) {
    memory_ = world_.is_root() ? SLUICE_MEMORY_DEVICE : SLUICE_MEMORY_HOST;
    return;
  }
  const bool is_first = test.family == Family::p2p ? world_.rank() < (world_.n_ranks() + 1) / 2 : world_.is_root();
  memory_ = options_.placement.at(is_first ? 0 : 1);
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
  const bool is_staged = options_.route == Route::naive && options_.by_hand == ByHand::staging;
  if (memory_ == SLUICE_MEMORY_DEVICE && !is_staged && options_.test->has_placement) {
    const DeviceAwareness awareness = query_device_awareness(options_.device);
    if (!awareness.is_aware && !options_.is_forced) {
      refusal = fmt::format(
          "this MPI does not take {} device memory ({}): run below a library that makes it, give --naive to stage by "
          "hand, or --force to try",
          options_.device, awareness.evidence);
    }
    run_->notes.push_back("device memory: " + awareness.evidence);
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

void Session::add_note(std::string note) {
  run_->notes.push_back(std::move(note));
}

void Session::begin(Columns columns) {
  std::string about;
  world_.agree(error_of([&] { about = describe_rank(); }));
  run_->ranks = nlohmann::json::array();
  for (const std::string &text : world_.gather(about)) {
    run_->ranks.push_back(nlohmann::json::parse(text));
  }
  for (std::string &note : describe_sharing(options_.device, run_->ranks)) {
    run_->notes.push_back(std::move(note));
  }
  run_->mpi_library = world_.library_version();
  run_->mpi_standard = world_.standard_version();
  run_->clock_cost_ns = clock_cost_ns();
  report_.begin(*run_, std::move(columns));
}

void Session::add(Row row) {
  const std::string failure = row.check.failure;
  report_.add(std::move(row));
  if (!failure.empty()) {
    throw AgreedError(failure);
  }
}

}  // namespace sluice::bench
