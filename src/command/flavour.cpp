// SPDX-License-Identifier: BSD-3-Clause
#include "command/flavour.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <system_error>

#include "command/elf_file.hpp"
#include "command/library_search.hpp"

namespace sluice::command {
namespace {

namespace fs = std::filesystem;

struct KnownLibrary {
  std::string_view begin;  // of the library's name
  Flavour flavour;
};

// libmpi_cray and libmpi_gnu are the MPICH ABI under the names of one vendor's compilers.
constexpr std::array<KnownLibrary, 6> kKnownLibraries = {{{"libmpi_abi.so.", Flavour::kAbi},
                                                          {"libmpi.so.12", Flavour::kMpich},
                                                          {"libmpich.so.12", Flavour::kMpich},
                                                          {"libmpi_cray.so.12", Flavour::kMpich},
                                                          {"libmpi_gnu.so.12", Flavour::kMpich},
                                                          {"libmpi.so.40", Flavour::kOmpi}}};

}  // namespace

std::string_view title(Flavour flavour) noexcept {
  constexpr std::array<std::string_view, 3> kTitles = {"the MPICH ABI", "the Open MPI ABI", "the MPI-5 ABI"};
  return kTitles[static_cast<std::size_t>(flavour)];
}

std::optional<Flavour> flavour_named(std::string_view word) noexcept {
  const auto found = std::find(kFlavourNames.begin(), kFlavourNames.end(), word);
  if (found == kFlavourNames.end()) return std::nullopt;
  return static_cast<Flavour>(found - kFlavourNames.begin());
}

std::optional<Flavour> flavour_of_library(std::string_view library) noexcept {
  for (const KnownLibrary &known : kKnownLibraries) {
    if (library.starts_with(known.begin)) return known.flavour;
  }
  return std::nullopt;
}

bool is_mpi_library(std::string_view library) noexcept {
  return flavour_of_library(library).has_value() || library.starts_with("libmpi.so") ||
         library.starts_with("libmpich.so");
}

ProgramMpi mpi_of_program(const fs::path &program) {
  std::deque<fs::path> todo = {program};
  std::set<fs::path> seen;
  while (!todo.empty()) {
    const fs::path current = todo.front();
    todo.pop_front();
    std::error_code ignored;
    if (!seen.insert(fs::weakly_canonical(current, ignored)).second) continue;
    const std::optional<ElfFile> elf = read_elf(current);
    if (!elf) continue;
    for (const std::string &library : elf->needed) {
      if (is_mpi_library(library)) return {flavour_of_library(library), library, current};
    }
    for (const std::string &library : elf->needed) {
      if (const std::optional<fs::path> found = find_library(library, *elf)) todo.push_back(*found);
    }
  }
  return {};
}

}  // namespace sluice::command
