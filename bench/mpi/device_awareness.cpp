// SPDX-License-Identifier: BSD-3-Clause
// Does this MPI take device memory?
#include "bench/mpi/device_awareness.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <sstream>

#include "bench/mpi/newer_calls.hpp"
#include "bench/mpi/world.hpp"

namespace sluice::bench {
namespace {

// MPICH's MPIX_GPU_query_support numbers the kinds of devices from 0.
constexpr int kDeviceTypes = 3;

// True when a kind of memory other than the host's is among them.
bool names_device_kinds(const std::string &kinds) {
  std::istringstream words(kinds);
  for (std::string word; std::getline(words, word, ',');) {
    const std::string kind = word.substr(0, word.find(':'));
    if (kind != "system" && kind != "mpi" && !kind.empty()) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string memory_kinds() {
  MPI_Info info = MPI_INFO_NULL;
  check_mpi(MPI_Comm_get_info(MPI_COMM_WORLD, &info), "MPI_Comm_get_info");
  char value[1024] = "";
  int is_found = 0;
  check_mpi(MPI_Info_get(info, "mpi_memory_alloc_kinds", sizeof value - 1, value, &is_found), "MPI_Info_get");
  check_mpi(MPI_Info_free(&info), "MPI_Info_free");
  return is_found != 0 ? value : "";
}

DeviceAwareness query_device_awareness(const std::string &module_name) {
  if (const auto query = find_function<int (*)(const char *)>("sluice_query_backend")) {
    const bool is_aware = query(module_name.c_str()) != 0;
    return {is_aware, fmt::format("sluice_query_backend(\"{}\") says {}", module_name, is_aware ? "yes" : "no")};
  }
  const std::string own_query = fmt::format("MPIX_Query_{}_support", module_name);
  if (const auto query = find_function<int (*)()>(own_query)) {
    const bool is_aware = query() != 0;
    return {is_aware, fmt::format("{} says {}", own_query, is_aware ? "yes" : "no")};
  }
  if (const auto query = find_function<int (*)(int, int *)>("MPIX_GPU_query_support")) {
    for (int type = 0; type < kDeviceTypes; ++type) {
      int is_supported = 0;
      if (query(type, &is_supported) == MPI_SUCCESS && is_supported != 0) {
        return {true, fmt::format("MPIX_GPU_query_support({}) says yes", type)};
      }
    }
  }
  const std::string kinds = memory_kinds();
  if (names_device_kinds(kinds)) {
    return {true, fmt::format("mpi_memory_alloc_kinds is \"{}\"", kinds)};
  }
  return {false, "neither it nor a library below says that it takes device memory"};
}

}  // namespace sluice::bench
