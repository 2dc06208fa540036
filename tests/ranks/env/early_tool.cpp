// SPDX-License-Identifier: BSD-3-Clause
// A tool that looks before MPI_Init and after it: the host MPI may have added variables meanwhile, and may have changed
// the names of its own (Open MPI 5 does both). Sluice's keep their numbers, and the others are the host MPI's in order.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tests/ranks/env/host_symbols.hpp"

namespace {

using Names = std::vector<std::string>;

template <typename Count, typename Info>
Names names(Count count, Info info) {
  Names found;
  int n = 0;
  if (count(&n) != MPI_SUCCESS) return found;
  for (int i = 0; i < n; ++i) {
    std::array<char, 4096> name{};
    int length = static_cast<int>(name.size());
    const int code = info(i, name.data(), &length, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    found.emplace_back(code == MPI_SUCCESS ? name.data() : "");
  }
  return found;
}

// Sluice's, with their numbers; the others in their order.
std::pair<std::vector<std::pair<std::size_t, std::string>>, Names> apart(const Names &all) {
  std::pair<std::vector<std::pair<std::size_t, std::string>>, Names> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].starts_with("SLUICE_")) {
      result.first.emplace_back(i, all[i]);
    } else {
      result.second.push_back(all[i]);
    }
  }
  return result;
}

}  // namespace

int main(int argc, char **argv) {
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  const auto [own_early, host_early] = apart(names(MPI_T_cvar_get_num, MPI_T_cvar_get_info));
  MPI_Init(&argc, &argv);
  const auto [own, host] = apart(names(MPI_T_cvar_get_num, MPI_T_cvar_get_info));
  void *const library = sluice::tests::host_library();
  const auto count = reinterpret_cast<decltype(&MPI_T_cvar_get_num)>(dlsym(library, "MPI_T_cvar_get_num"));
  const auto info = reinterpret_cast<decltype(&MPI_T_cvar_get_info)>(dlsym(library, "MPI_T_cvar_get_info"));
  const bool is_right = !own.empty() && own == own_early && host == names(count, info);
  std::printf("%s: %zu variables of the host MPI before MPI_Init, %zu after, %zu of Sluice's\n",
              is_right ? "all is right" : "wrong", host_early.size(), host.size(), own.size());
  dlclose(library);
  MPI_Finalize();
  MPI_T_finalize();
  return is_right ? 0 : 1;
}
