// SPDX-License-Identifier: BSD-3-Clause
// The table and the JSON file of an application's run.
#include "apps/support/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/measure/statistics.hpp"

namespace sluice::apps {
namespace {

using nlohmann::json;

json environment() {
  json variables = json::object();
  for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (text.starts_with("SLUICE_") && equals != std::string::npos) {
      variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  return variables;
}

json describe_rank(const World &world, const Device &device) {
  const sluice_device_info_t info = device.query();
  return {{"rank", world.rank()},
          {"host", world.host()},
          {"local_rank", world.local_rank()},
          {"memory", "device"},
          {"cores", ""},
          {"numa_node", -1},
          {"device",
           {{"module", device.module_name()},
            {"index", device.index()},
            {"name", info.name},
            {"runtime", info.runtime},
            {"pci_address", info.pci_address},
            {"numa_node", info.numa_node},
            {"memory_bytes", info.memory_bytes}}}};
}

json to_json(const bench::Summary &summary) {
  return {{"samples", summary.n_samples}, {"mean", summary.mean},
          {"median", summary.median},     {"min", summary.min},
          {"max", summary.max},           {"p99", summary.p99},
          {"stddev", summary.stddev},     {"median_interval", {summary.median_low, summary.median_high}}};
}

}  // namespace

struct Report::Document {
  json all;
  json parameters = json::object();
};

Report::~Report() = default;

Report::Report(const World &world, const Device &device, std::string name, std::vector<std::string> command,
               std::string json_path)
    : world_(world), document_(std::make_unique<Document>()), json_path_(std::move(json_path)) {
  json ranks = json::array();
  for (const std::string &text : world.gather(describe_rank(world, device).dump())) ranks.push_back(json::parse(text));
  document_->all = {
      {"schema", "sluice-bench"},
      {"schema_version", 1},
      {"version", SLUICE_APPS_VERSION},
      {"commit", nullptr},
      {"command", std::move(command)},
      {"mpi", {{"library", world.library_version()}, {"standard", world.standard_version()}}},
      {"environment", environment()},
      {"ranks", std::move(ranks)},
      {"notes", {"device memory: " + device.awareness()}},
      {"test", std::move(name)},
      {"options", {{"device", device.module_name()}, {"placement", {"device", "device"}}, {"route", "direct"}}},
      {"metric", {{"unit", "us"}, {"better", "lower"}}},
      {"rows", json::array()}};
}

void Report::add_parameter(const std::string &name, const std::string &value) {
  document_->parameters[name] = value;
}

void Report::print_heading() {
  const json &rank = document_->all["ranks"].at(0);
  const std::string library = document_->all["mpi"]["library"];
  fmt::print("# {}: {} ranks, device {} ({}), {}\n", document_->all["test"].get<std::string>(), world_.n_ranks(),
             rank["device"]["module"].get<std::string>(), rank["device"]["name"].get<std::string>(),
             library.substr(0, library.find_first_of(",\n")));
  std::vector<std::string> words;
  for (const auto &[name, value] : document_->parameters.items()) {
    words.push_back(fmt::format("{} {}", name, value.get<std::string>()));
  }
  fmt::print("# {}\n{:<24} {:>12} {:>8} {:>14} {:>14} {:>14} {:>12}\n", fmt::join(words, ", "), "variant", "bytes",
             "samples", "median us", "min us", "max us", "total s");
}

void Report::add(const std::string &series, std::uint64_t size_bytes, std::vector<double> own_us) {
  std::vector<double> slowest_us(own_us.size());
  check_mpi(MPI_Reduce(own_us.data(), slowest_us.data(), static_cast<int>(own_us.size()), MPI_DOUBLE, MPI_MAX, 0,
                       MPI_COMM_WORLD),
            "MPI_Reduce");
  if (!world_.is_root()) return;
  if (!std::exchange(has_heading_, true)) print_heading();
  const bench::Summary summary = bench::summarise(std::move(slowest_us), {});
  fmt::print("{:<24} {:>12} {:>8} {:>14.2f} {:>14.2f} {:>14.2f} {:>12.6f}\n", series, size_bytes, summary.n_samples,
             summary.median, summary.min, summary.max, summary.mean * static_cast<double>(summary.n_samples) * 1e-6);
  const json one = {{"name", series},
                    {"blocks", {to_json(summary)}},
                    {"medians", {{"median", summary.median}, {"min", summary.median}, {"max", summary.median}}}};
  json &rows = document_->all["rows"];
  for (json &row : rows) {
    if (row["size_bytes"] == size_bytes) {
      row["series"].push_back(one);
      return;
    }
  }
  rows.push_back({{"size_bytes", size_bytes}, {"series", json::array({one})}, {"check", {{"passed", true}}}});
}

void Report::finish(const std::string &failure) {
  std::string error;
  if (world_.is_root() && !json_path_.empty()) {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    document_->all["time_utc"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
    document_->all["options"]["parameters"] = document_->parameters;
    document_->all["status"] = failure.empty() ? "ok" : "failed";
    if (!failure.empty()) document_->all["error"] = failure;
    std::ofstream file(json_path_);
    file << document_->all.dump(2) << '\n';
    file.close();
    if (!file) error = fmt::format("--json: '{}' cannot be written", json_path_);
  }
  world_.agree(error);
}

}  // namespace sluice::apps
