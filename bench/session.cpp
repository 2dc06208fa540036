// SPDX-License-Identifier: BSD-3-Clause
// Sets a run up: ranks, devices, report.
#include "bench/session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bench/measure/sampling.hpp"
#include "bench/memory/device_check.hpp"
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

// A line for each answer to the question who looks at device memory.
std::vector<std::string> describe_checking(const nlohmann::json &ranks) {
  std::map<std::string, std::vector<int>> places;
  for (const nlohmann::json &about : ranks) {
    if (about.contains("checked_on")) {
      places[about.at("checked_on")].push_back(about.at("rank"));
    }
  }
  std::vector<std::string> notes;
  for (const auto &[place, ranks_there] : places) {
    const std::string of = places.size() > 1 ? fmt::format(" of rank {}", fmt::join(ranks_there, ", ")) : "";
    notes.push_back(fmt::format("device memory{} is checked on the {}", of, place));
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
  run_->notes = options.notes;
  require_ranks();
  world_.agree(report_.open());
  choose_memory();
  // Reading the machine takes longer than many a test.
  static const RankPlace place = query_rank_place();
  place_ = place;
  bind_device();
  require_awareness();
  prove_check();
}

Session::~Session() = default;

void Session::require_ranks() const {
  const TestInfo &test = *options_.test;
  const int n = world_.n_ranks();
  if (n < test.min_ranks || (test.max_ranks != 0 && n > test.max_ranks) || (test.is_paired && n % 2 != 0)) {
    throw AgreedError(fmt::format("{} needs {}, and this run has {}: start it with mpiexec -n {}", test.name,
                                  wanted_ranks(test), n, test.min_ranks));
  }
  const std::size_t n_named = options_.rank_placement.size();
  if (n_named != 0 && n_named != static_cast<std::size_t>(n)) {
    throw AgreedError(fmt::format("the placement names the memory of {} ranks, and this run has {}", n_named, n));
  }
  if (options_.n_pairs != 0 && options_.n_pairs * 2 != static_cast<std::uint64_t>(n)) {
    throw AgreedError(fmt::format("-p {0}: this run has {1} ranks, which are {2} pairs: start it with mpiexec -n {3}",
                                  options_.n_pairs, n, n / 2, options_.n_pairs * 2));
  }
}

void Session::choose_memory() {
  const TestInfo &test = *options_.test;
  if (test.needs_device) {
    const bool is_user = world_.is_root() || test.min_ranks > 1;
    memory_ = recv_memory_ = is_user ? SLUICE_MEMORY_DEVICE : SLUICE_MEMORY_HOST;
    return;
  }
  if (!options_.rank_placement.empty()) {
    const auto rank = static_cast<std::size_t>(world_.rank());
    memory_ = options_.rank_placement.at(rank);
    recv_memory_ = options_.rank_recv_placement.at(rank);
    return;
  }
  const bool is_first = test.family == Family::p2p ? world_.rank() < (world_.n_ranks() + 1) / 2 : world_.is_root();
  memory_ = options_.placement.at(is_first ? 0 : 1);
  recv_memory_ = options_.recv_placement.at(is_first ? 0 : 1);
}

// Collective.
void Session::bind_device() {
  const std::string error = error_of([this] {
    if (memory_ != SLUICE_MEMORY_HOST || recv_memory_ != SLUICE_MEMORY_HOST) {
      module_.emplace(options_.module_dir.empty() ? default_module_dir() : options_.module_dir, options_.device);
    }
  });
  world_.agree(error);
  const std::int32_t device = choose_device();
  world_.agree(error_of([&] {
    if (module_) {
      module_->select(device);
    }
  }));
}

// Collective. Throws AgreedError. Ranks without a device take part: the others must know which there are.
std::int32_t Session::choose_device() {
  constexpr int kNoDevice = -2;  // below every NUMA node and "unknown"
  std::vector<Seat> seats;
  for (const int value : world_.gather_on_host(module_ ? place_.numa_node : kNoDevice)) {
    seats.push_back({value != kNoDevice, std::max(value, -1)});
  }
  std::string error;
  std::int32_t mine = 0;
  if (module_) {
    std::vector<int> nodes;
    nodes.reserve(static_cast<std::size_t>(module_->n_devices()));
    for (std::int32_t device = 0; device < module_->n_devices(); ++device) {
      nodes.push_back(module_->query_device(device).numa_node);
    }
    const DeviceChoice choice = choose_devices(options_.binding, seats, nodes);
    error = choice.error;
    if (error.empty()) {
      mine = choice.devices.at(static_cast<std::size_t>(world_.local_rank()));
      const SharedDevice shared = find_shared_device(seats, choice.devices);
      // A list is an answer to the question. A device that is made of the host's cores is shared anyhow.
      const bool is_meant = options_.is_oversubscribed || options_.binding.rule == BindingRule::list ||
                            (shared.n_ranks > 0 && module_->is_made_of_cores(shared.device));
      if (shared.n_ranks > 0 && !is_meant) {
        error = fmt::format(
            "{} ranks of {} would share device {} of {} ({} there): give --oversubscribe if that is meant, or start "
            "fewer "
            "ranks",
            shared.n_ranks, world_.host(), shared.device, options_.device, module_->n_devices());
      }
    }
  }
  world_.agree(error);
  return mine;
}

void Session::require_awareness() {
  std::string refusal;
  const bool is_staged = options_.route == Route::naive && options_.by_hand == ByHand::staging;
  if (has_memory(SLUICE_MEMORY_DEVICE) && !is_staged && options_.test->has_placement) {
    const bool is_one_sided = options_.test->family == Family::rma;
    const DeviceAwareness awareness = query_device_awareness(options_.device);
    if (!awareness.is_aware && !options_.is_forced && is_one_sided) {
      refusal = fmt::format(
          "this MPI does not take windows in {} device memory ({}): run below a library that makes it, or over an MPI "
          "that takes them, or give --force to try",
          options_.device, awareness.evidence);
    } else if (!awareness.is_aware && !options_.is_forced) {
      refusal = fmt::format(
          "this MPI does not take {} device memory ({}): run below a library that makes it, give --naive to stage by "
          "hand, or --force to try",
          options_.device, awareness.evidence);
    }
    run_->notes.push_back("device memory: " + awareness.evidence);
  }
  world_.agree(refusal);
}

// Collective. A check that misses a wrong byte ends the run before anything is measured.
void Session::prove_check() {
  const bool is_needed = module_ && options_.check != CheckMode::none &&
                         (has_memory(SLUICE_MEMORY_DEVICE) || has_memory(SLUICE_MEMORY_SHARED));
  std::string reason = "--check-on host";
  world_.agree(error_of([&] {
    if (is_needed && options_.check_place != CheckPlace::host) {
      reason = prove_device_check(*module_);
      module_->check_on_device(reason.empty());
    }
  }));
  if (is_needed) {
    check_place_ = reason.empty() ? "device" : "host: " + reason;
  }
  const bool is_refused = is_needed && !reason.empty() && options_.check_place == CheckPlace::device;
  world_.agree(is_refused ? "--check-on device: " + reason : "");
}

std::string Session::describe_rank() const {
  nlohmann::json about = {
      {"rank", world_.rank()},          {"host", world_.host()}, {"local_rank", world_.local_rank()},
      {"memory", memory_name(memory_)}, {"cores", place_.cores}, {"numa_node", place_.numa_node}};
  if (recv_memory_ != memory_) {
    about["recv_memory"] = memory_name(recv_memory_);
  }
  if (module_) {
    const sluice_device_info_t info = module_->query_device(module_->device());
    about["device"] = {
        {"module", module_->name()},        {"index", module_->device()},      {"name", info.name},
        {"runtime", info.runtime},          {"pci_address", info.pci_address}, {"numa_node", info.numa_node},
        {"memory_bytes", info.memory_bytes}};
  }
  if (!check_place_.empty()) {
    about["checked_on"] = check_place_;
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
  for (std::string &note : describe_checking(run_->ranks)) {
    run_->notes.push_back(std::move(note));
  }
  run_->mpi_library = world_.library_version();
  run_->mpi_standard = world_.standard_version();
  run_->clock_cost_ns = clock_cost_ns();
  watch_.emplace(memory_, recv_memory_);
  const bool has_watch = watch_->is_there() && options_.test->family != Family::micro;
  if (!world_.is_same_everywhere(has_watch ? "told" : "not told") || !has_watch) {
    watch_.reset();
  }
  columns.has_routes = watch_.has_value();
  report_.begin(*run_, std::move(columns));
}

void Session::begin_routes() {
  if (watch_) {
    world_.agree(error_of([this] { watch_->begin(); }));
  }
}

std::vector<RankRoute> Session::end_routes() {
  std::vector<RankRoute> routes;
  if (!watch_) {
    return routes;
  }
  std::string route;
  world_.agree(error_of([&] { route = describe(watch_->end()); }));
  for (std::string &text : world_.gather(route)) {
    routes.push_back({static_cast<int>(routes.size()), std::move(text)});
  }
  return routes;
}

void Session::add(Row row) {
  const std::string failure = row.check.failure;
  for (Series &series : row.series) {
    for (Summary &block : series.blocks) {
      if (!options_.wants_samples) block.samples = {};
    }
  }
  report_.add(std::move(row));
  if (!failure.empty()) {
    throw AgreedError(failure);
  }
}

}  // namespace sluice::bench
