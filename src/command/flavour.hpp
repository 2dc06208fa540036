// SPDX-License-Identifier: BSD-3-Clause
// The binary interfaces ("flavours") that libsluice is built for, and how a library's name tells which one an MPI has.
// All of it: any thread.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::command {

enum class Flavour : unsigned char { kMpich, kOmpi, kAbi };
inline constexpr std::array<std::string_view, 3> kFlavourNames = {"mpich", "ompi", "abi"};

[[nodiscard]] constexpr std::string_view name(Flavour flavour) noexcept {
  return kFlavourNames[static_cast<std::size_t>(flavour)];
}
// For people: "the MPICH ABI".
[[nodiscard]] std::string_view title(Flavour flavour) noexcept;

// The flavour of that name; empty for other words.
[[nodiscard]] std::optional<Flavour> flavour_named(std::string_view word) noexcept;

// The flavour of an MPI library by its name as a program needs it: "libmpi.so.12" is the MPICH ABI. Empty for a library
// that is no MPI, and for an MPI of an interface that Sluice is not built for (is_mpi_library tells them apart).
[[nodiscard]] std::optional<Flavour> flavour_of_library(std::string_view library) noexcept;
[[nodiscard]] bool is_mpi_library(std::string_view library) noexcept;

// What was found out about one program.
struct ProgramMpi {
  std::optional<Flavour> flavour;
  std::string library;              // the MPI library that decided, as it is needed ("libmpi.so.40")
  std::filesystem::path needed_by;  // the program, or the library of the program's that needs it
};

// Reads the program's needed libraries, then theirs and so on, nearest first. `library` is empty when no MPI is among
// them; `flavour` is empty too when the MPI has an interface that Sluice is not built for.
[[nodiscard]] ProgramMpi mpi_of_program(const std::filesystem::path &program);

}  // namespace sluice::command
