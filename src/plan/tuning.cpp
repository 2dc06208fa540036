// SPDX-License-Identifier: BSD-3-Clause
#include "plan/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "device/registry.hpp"

namespace sluice::plan {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr std::array<std::string_view, 15> kTunable = {
    "SLUICE_DEVICE_STAGING_MEMORY",  "SLUICE_P2P_IPC_THRESHOLD",      "SLUICE_P2P_PIPELINE_BLOCKS",
    "SLUICE_P2P_PIPELINE_THRESHOLD", "SLUICE_COLL_IPC_THRESHOLD",     "SLUICE_COLL_REDUCE_THRESHOLD",
    "SLUICE_COLL_LEVELS_THRESHOLD",  "SLUICE_COLL_SEGMENT_THRESHOLD", "SLUICE_COLL_SEGMENT",
    "SLUICE_COLL_CHAIN_BLOCK",       "SLUICE_COLL_KERNEL_COPY",       "SLUICE_COLL_REDUCE_ENGINES",
    "SLUICE_COLL_REDUCE_BLOCK",      "SLUICE_TRANSFER_PACK_FROM",     "SLUICE_TRANSFER_COPY_NS"};

Status unusable(const std::string &path, std::string_view why) {
  return Status::error(ErrorKind::kInvalidArgument,
                       fmt::format("the tuning table {} is not used: {}; correct it, remove it, make it again with "
                                   "`sluice tune`, or set SLUICE_TUNING=off",
                                   path, why));
}

Status parse_values(const nlohmann::json &knobs, TuningTable *table) {
  for (const auto &[name, value] : knobs.items()) {
    if (std::find(kTunable.begin(), kTunable.end(), name) == kTunable.end()) {
      return unusable(table->path, fmt::format("{} is no knob that a table may set", name));
    }
    if (!value.is_string() || !is_knob_value(name, value.get<std::string>())) {
      return unusable(table->path, fmt::format("{} cannot be {}", name, value.dump()));
    }
    table->values[name] = value.get<std::string>();
  }
  return {};
}

void read_file(const fs::path &path, std::vector<TuningTable> *tables, std::vector<Status> *problems) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  TuningTable table;
  const Status status = file ? parse_tuning(text, path.string(), &table) : unusable(path.string(), "it cannot be read");
  if (status.is_ok()) {
    tables->push_back(std::move(table));
  } else {
    problems->push_back(status);
  }
}

}  // namespace

std::span<const std::string_view> tunable_knobs() noexcept {
  return kTunable;
}

Status parse_tuning(const std::string &text, const std::string &path, TuningTable *table) {
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  if (!root.is_object()) return unusable(path, "it is no JSON object");
  const auto text_of = [&](const char *member) {
    const auto found = root.find(member);
    return found != root.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto format = root.find("format");
  if (format == root.end() || *format != kFormat) return unusable(path, "its \"format\" is not 1");
  const auto knobs = root.find("knobs");
  if (knobs == root.end() || !knobs->is_object()) return unusable(path, "it has no object \"knobs\"");
  TuningTable read{path, text_of("backend"), text_of("device"), {}};
  if (read.backend.empty()) return unusable(path, "it names no \"backend\"");
  if (Status status = parse_values(*knobs, &read); !status.is_ok()) return status;
  *table = std::move(read);
  return {};
}

std::vector<const TuningTable *> find_tuning(std::span<const TuningTable> tables, std::string_view backend,
                                             std::string_view device_name) {
  std::vector<const TuningTable *> fitting;
  for (const TuningTable &table : tables) {
    if (table.backend == backend && device_name.find(table.device) != std::string_view::npos) {
      fitting.push_back(&table);
    }
  }
  std::ranges::stable_sort(fitting, std::ranges::greater(), [](const TuningTable *t) { return t->device.size(); });
  return fitting;
}

std::vector<TuningTable> read_tuning(const std::string &path, std::vector<Status> *problems) {
  std::vector<TuningTable> tables;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (path.ends_with(".json")) read_file(path, &tables, problems);
    return tables;
  }
  std::vector<fs::path> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  if (error) problems->push_back(unusable(path, error.message()));
  std::sort(files.begin(), files.end());
  for (const fs::path &file : files) read_file(file, &tables, problems);
  return tables;
}

std::vector<std::string> tuning_folders(const std::string &module_folder) {
  std::vector<std::string> folders;
  const char *config = std::getenv("XDG_CONFIG_HOME");
  const char *home = std::getenv("HOME");
  if (config != nullptr && config[0] == '/') {
    folders.push_back(std::string(config) + "/sluice/tuning");
  } else if (home != nullptr && home[0] == '/') {
    folders.push_back(std::string(home) + "/.config/sluice/tuning");
  }
  folders.push_back(module_folder + "/tuning");
  return folders;
}

const std::vector<TuningTable> &process_tuning() {
  static const std::vector<TuningTable> tables = [] {
    const std::string &knob = Knobs::process().text("SLUICE_TUNING");
    std::vector<std::string> paths;
    if (knob == "auto") {
      paths = tuning_folders(device::module_folder());
    } else if (knob != "off") {
      paths = {knob};
    }
    std::vector<Status> problems;
    std::vector<TuningTable> read;
    for (const std::string &path : paths) std::ranges::move(read_tuning(path, &problems), std::back_inserter(read));
    if (knob != "auto" && knob != "off" && read.empty() && problems.empty()) {
      problems.push_back(unusable(knob, "there is no such folder or file *.json, or it holds none"));
    }
    for (const Status &problem : problems) log::warn("plan", problem.message());
    return read;
  }();
  return tables;
}

std::string tuned_value(std::span<const TuningTable *const> tables, const char *knob) {
  const Knobs &knobs = Knobs::process();
  if (knobs.is_set(knob)) return knobs.text(knob);
  for (const TuningTable *table : tables) {
    if (const auto found = table->values.find(knob); found != table->values.end()) return found->second;
  }
  return knobs.text(knob);
}

std::optional<std::uint64_t> tuned_bytes_of_any(std::string_view backend, const char *knob) {
  const std::vector<const TuningTable *> tables = find_tuning(process_tuning(), backend, "");
  std::uint64_t number = 0;
  if (tables.empty() || !parse_bytes(tuned_value(tables, knob), &number)) return std::nullopt;
  return number;
}

}  // namespace sluice::plan
