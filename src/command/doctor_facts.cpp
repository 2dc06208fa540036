// SPDX-License-Identifier: BSD-3-Clause
#include "command/doctor_facts.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/environment.hpp"
#include "base/knobs.hpp"
#include "command/info.hpp"
#include "command/knob_problems.hpp"
#include "device/modules.hpp"

namespace sluice::command {
namespace {

using nlohmann::ordered_json;

constexpr int kFormat = 1;

// Null: the system does not tell, or there is no limit.
ordered_json limit_of(__rlimit_resource_t resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return nullptr;
  return static_cast<std::uint64_t>(limit.rlim_cur);
}

ordered_json limits() {
  ordered_json result = {{"shared_memory_free_bytes", nullptr},
                         {"open_files", limit_of(RLIMIT_NOFILE)},
                         {"locked_bytes", limit_of(RLIMIT_MEMLOCK)},
                         {"ptrace_scope", nullptr}};
  struct statvfs about{};
  if (statvfs("/dev/shm", &about) == 0) {
    result["shared_memory_free_bytes"] = static_cast<std::uint64_t>(about.f_bavail) * about.f_frsize;
  }
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (file >> scope) result["ptrace_scope"] = scope;
  return result;
}

ordered_json json_of(const device::Module &module) {
  ordered_json masks = ordered_json::array();
  for (const device::Mask &mask : module.masks) {
    const char *value = environment_variable(mask.variable.c_str());
    if (value != nullptr) masks.push_back(mask.variable + "=" + value);
  }
  return {{"name", module.name},
          {"is_installed", is_installed(module)},
          {"has_files", has_device_files(module)},
          {"masks", masks},
          {"hidden_by", hiding_masks(module)}};
}

ordered_json json_of(const std::optional<StartedBy> &starter) {
  if (!starter) return nullptr;
  return {{"variable", starter->variable}, {"rank", starter->rank}, {"n_ranks", starter->n_ranks}};
}

}  // namespace

std::string shared_memory_problem() {
  constexpr std::uint64_t kLittle = std::uint64_t{16} << 20;
  constexpr const char *kRemedy = "most MPIs do not start so; make it writable and larger (containers: --shm-size=1g)";
  struct statvfs about{};
  if (statvfs("/dev/shm", &about) != 0) return fmt::format("/dev/shm is not there: {}", kRemedy);
  if ((about.f_flag & ST_RDONLY) != 0) return fmt::format("/dev/shm cannot be written to: {}", kRemedy);
  const std::uint64_t free_bytes = static_cast<std::uint64_t>(about.f_bavail) * about.f_frsize;
  if (free_bytes < kLittle) return fmt::format("/dev/shm has {} KiB free: {}", free_bytes >> 10, kRemedy);
  return "";
}

std::string to_json(const DoctorFacts &facts) {
  const Installation &installation = facts.installation;
  ordered_json root = {
      {"format", kFormat},
      {"program_version", version()},
      {"flavour", name(facts.flavour)},
      {"flavour_rule", facts.rule},
      {"started_by", json_of(facts.starter)},
      {"start_line", facts.start_line},
      {"preload", {{"by", facts.preload.by}, {"library", facts.preload.library}, {"problem", facts.preload.problem}}},
      {"knobs", sluice_variables()}};
  std::vector<std::string> problems = wrong_values();
  for (std::string &text : unknown_variables(installation.modules)) problems.push_back(std::move(text));
  root["knob_problems"] = problems;
  root["allowed_backends"] = Knobs::process().text("SLUICE_BACKENDS");
  root["module_folder"] = installation.module_folder;
  root["module_problems"] = ordered_json::array();
  for (const Status &problem : installation.problems) root["module_problems"].push_back(problem.message());
  root["backends"] = ordered_json::array();
  for (const device::Module &module : installation.modules) root["backends"].push_back(json_of(module));
  root["limits"] = limits();
  return root.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace sluice::command
