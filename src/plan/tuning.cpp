// SPDX-License-Identifier: BSD-3-Clause
#include "plan/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/environment.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "device/registry.hpp"

namespace sluice::plan {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 2;
constexpr int kOldFormat = 1;  // whose names are variables that are gone

Status unusable(const std::string &path, std::string_view why) {
  return Status::error(ErrorKind::kInvalidArgument,
                       fmt::format("the tuning table {} is not used: {}; correct it, remove it, make it again with "
                                   "`sluice tune`, or set SLUICE_TUNING=off",
                                   path, why));
}

Status parse_values(const nlohmann::json &settings, TuningTable *table) {
  for (const auto &[name, value] : settings.items()) {
    const KnobLine *line = find_setting(name);
    if (line == nullptr || !line->is_tunable) {
      return unusable(table->path, fmt::format("{} is no setting that a table may set", name));
    }
    if (!value.is_string() || !takes(*line, value.get<std::string>())) {
      return unusable(table->path, fmt::format("{} cannot be {}; allowed is {}", name, value.dump(), line->range));
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

Status parse_tuning(const std::string &text, const std::string &path, TuningTable *table) {
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  if (!root.is_object()) return unusable(path, "it is no JSON object");
  const auto text_of = [&](const char *member) {
    const auto found = root.find(member);
    return found != root.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto format = root.find("format");
  if (format != root.end() && *format == kOldFormat) {
    return Status::error(ErrorKind::kInvalidArgument,
                         fmt::format("the tuning table {} is not used: its \"format\" is 1, whose names are gone; run "
                                     "`sluice tune` again, remove it, or set SLUICE_TUNING=off",
                                     path));
  }
  if (format == root.end() || *format != kFormat) return unusable(path, "its \"format\" is not 2");
  const auto settings = root.find("settings");
  if (settings == root.end() || !settings->is_object()) return unusable(path, "it has no object \"settings\"");
  TuningTable read{path, text_of("backend"), text_of("device"), {}};
  if (read.backend.empty()) return unusable(path, "it names no \"backend\"");
  if (Status status = parse_values(*settings, &read); !status.is_ok()) return status;
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
  const char *config = environment_variable("XDG_CONFIG_HOME");
  const char *home = environment_variable("HOME");
  if (config != nullptr && config[0] == '/') {
    folders.push_back(std::string(config) + "/sluice/tuning");
  } else if (home != nullptr && home[0] == '/') {
    folders.push_back(std::string(home) + "/.config/sluice/tuning");
  }
  folders.push_back(module_folder + "/tuning");
  return folders;
}

std::vector<TuningTable> read_wanted_tuning(std::vector<Status> *problems) {
  const std::string &wanted = Knobs::process().tuning_tables();
  std::vector<std::string> paths;
  if (wanted == "auto") {
    paths = tuning_folders(device::module_folder());
  } else if (wanted != "off") {
    paths = {wanted};
  }
  const std::size_t n_before = problems->size();
  std::vector<TuningTable> tables;
  for (const std::string &path : paths) std::ranges::move(read_tuning(path, problems), std::back_inserter(tables));
  if (wanted != "auto" && wanted != "off" && tables.empty() && problems->size() == n_before) {
    problems->push_back(unusable(wanted, "there is no such folder or file *.json, or it holds none"));
  }
  return tables;
}

const std::vector<TuningTable> &process_tuning() {
  static const std::vector<TuningTable> tables = [] {
    std::vector<Status> problems;
    std::vector<TuningTable> read = read_wanted_tuning(&problems);
    for (const Status &problem : problems) log::warn("plan", problem.message());
    return read;
  }();
  return tables;
}

std::string tuned_value(std::span<const TuningTable *const> tables, const char *setting) {
  const Knobs &knobs = Knobs::process();
  if (knobs.is_set(setting)) return knobs.text(setting);
  for (const TuningTable *table : tables) {
    if (const auto found = table->values.find(setting); found != table->values.end()) return found->second;
  }
  return knobs.text(setting);
}

std::uint64_t tuned_number(std::span<const TuningTable *const> tables, const char *setting) {
  const KnobLine *line = find_setting(setting);
  std::uint64_t number = 0;
  return line != nullptr && parse_value(line->type, tuned_value(tables, setting), &number) ? number : 0;
}

std::optional<std::uint64_t> tuned_number_of_any(std::string_view backend, const char *setting) {
  const std::vector<const TuningTable *> tables = find_tuning(process_tuning(), backend, "");
  if (tables.empty()) return std::nullopt;
  return tuned_number(tables, setting);
}

}  // namespace sluice::plan
