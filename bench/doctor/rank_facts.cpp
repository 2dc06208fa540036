// SPDX-License-Identifier: BSD-3-Clause
// What this rank can say of itself.
#include "bench/doctor/rank_facts.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <thread>
#include <utility>

#include "bench/doctor/library_build.hpp"
#include "bench/memory/device_module.hpp"
#include "bench/memory/rank_place.hpp"
#include "bench/mpi/device_awareness.hpp"
#include "bench/mpi/newer_calls.hpp"

namespace sluice::bench::doctor {
namespace {

std::string first_line(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

const char *level_name(int level) {
  switch (level) {
    case MPI_THREAD_MULTIPLE:
      return "multiple";
    case MPI_THREAD_SERIALIZED:
      return "serialized";
    case MPI_THREAD_FUNNELED:
      return "funneled";
    default:
      return "single";
  }
}

Json facts_of_sluice() {
  Json facts = {{"is_there", false}, {"is_enabled", false}, {"version", ""}, {"library", ""}, {"build", ""}};
  const auto version = find_function<void (*)(int *, int *, int *)>("sluice_version");
  const auto is_enabled = find_function<int (*)()>("sluice_is_enabled");
  if (version == nullptr || is_enabled == nullptr) return facts;
  std::array<int, 3> numbers{};
  version(&numbers[0], &numbers[1], &numbers[2]);
  Dl_info here{};
  facts["is_there"] = true;
  facts["is_enabled"] = is_enabled() != 0;
  facts["version"] = fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
  if (::dladdr(reinterpret_cast<const void *>(version), &here) != 0 && here.dli_fname != nullptr) {
    facts["library"] = here.dli_fname;
    facts["build"] = build_of_library(here.dli_fbase);
  }
  return facts;
}

// The number of the node: that of its lowest rank.
int node_of(const World &world) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  const int mine = world.rank();
  int lowest = 0;
  check_mpi(MPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  return lowest;
}

// What stands in front of the reason is said by the line that it gets.
std::string without_preface(const std::string &text) {
  for (const std::string_view preface : {"is not usable here: no device: ", "is not usable here: "}) {
    const std::size_t at = text.find(preface);
    if (at != std::string::npos) return text.substr(at + preface.size());
  }
  return text;
}

void ask_module(const std::string &folder, Json *backend) {
  const std::string name = backend->at("name");
  try {
    const DeviceModule module(folder, name);
    bool is_on_host = true;
    for (std::int32_t device = 0; device < module.n_devices(); ++device) {
      const sluice_device_info_t info = module.query_device(device);
      (*backend)["devices"].push_back({{"name", info.name},
                                       {"runtime", info.runtime},
                                       {"pci_address", info.pci_address},
                                       {"numa_node", info.numa_node}});
      is_on_host = is_on_host && (info.pci_address[0] == '\0' || module.is_made_of_cores(device));
    }
    (*backend)["is_on_host"] = is_on_host;
    const DeviceAwareness awareness = query_device_awareness(name);
    (*backend)["mpi_takes_it"] = awareness.is_aware;
    (*backend)["evidence"] = awareness.evidence;
    const auto query = find_function<int (*)(const char *)>("sluice_query_backend");
    (*backend)["sluice_takes_it"] = query != nullptr && query(name.c_str()) != 0;
  } catch (const DeviceError &error) {
    (*backend)["devices"] = Json::array();
    (*backend)["problem"] = without_preface(error.what());
  }
}

}  // namespace

Json facts_of_rank(const World &world, Json facts, const std::string &only) {
  facts["rank"] = world.rank();
  facts["n_ranks"] = world.n_ranks();
  facts["local_rank"] = world.local_rank();
  facts["n_local_ranks"] = world.n_local_ranks();
  facts["host"] = world.host();
  facts["node"] = node_of(world);
  const std::string library = first_line(world.library_version());
  facts["mpi"] = library.substr(0, library.find("; Sluice "));  // which has a line of its own
  facts["standard"] = world.standard_version();
  facts["thread_level"] = level_name(world.thread_level());
  facts["sluice"] = facts_of_sluice();
  const RankPlace place = query_rank_place();
  facts["cores"] = place.cores;
  facts["numa_node"] = place.numa_node;
  facts["n_cores_of_node"] = std::thread::hardware_concurrency();
  Json backends = Json::array();
  for (Json &backend : facts["backends"]) {
    if (!only.empty() && backend.at("name") != only) continue;
    backend["devices"] = Json::array();
    backend["problem"] = "";
    backend["is_on_host"] = false;
    backend["mpi_takes_it"] = false;
    backend["evidence"] = "";
    backend["sluice_takes_it"] = false;
    ask_module(facts["module_folder"], &backend);
    backends.push_back(backend);
  }
  facts["backends"] = backends;
  facts["memory_kinds"] = memory_kinds();  // with runtimes in the process, of which a library below may have learnt
  return facts;
}

}  // namespace sluice::bench::doctor
