// SPDX-License-Identifier: BSD-3-Clause
// Host: the next MPI, function by function. All calls down to it go through here.
#pragma once

#include <atomic>

#include "wire/mpi.hpp"

namespace sluice::wire {

// One pointer for each of MPI's functions, named as the function. None is null: a function that the host MPI lacks is a
// stand-in that logs its name once and returns MPI_ERR_OTHER.
struct Host {
#define SLUICE_MPI_FUNCTION(name) decltype(&::name) name;  // NOLINT(bugprone-macro-parentheses): declares a member
#include "generated/mpi_functions.inc"
#undef SLUICE_MPI_FUNCTION
};

namespace detail {
extern std::atomic<bool> is_resolved;
extern Host next_table;
extern Host profiling_table;
void resolve() noexcept;  // fills both tables, once; any thread
}  // namespace detail

// The next definition of each MPI_X behind Sluice: a tool that is preloaded after Sluice, or the host MPI. Resolved at
// the first call. Hot. Any thread.
inline const Host &host() noexcept {
  if (!detail::is_resolved.load(std::memory_order_acquire)) [[unlikely]]
    detail::resolve();
  return detail::next_table;
}

// The host MPI's own functions, behind every tool (its PMPI_X). Same rules.
inline const Host &profiling_host() noexcept {
  if (!detail::is_resolved.load(std::memory_order_acquire)) [[unlikely]]
    detail::resolve();
  return detail::profiling_table;
}

// True while this thread is inside host() or profiling_host(), in a function on files or, if a tool lies behind Sluice,
// in any. The tool, and ROMIO, call PMPI_X, which the dynamic linker binds to Sluice's own PMPI_X; that one must then
// go on to the host MPI and not begin again. ROMIO calls MPI_X, too, with a lock held: no turn that comes of it may
// enter a function on files.
[[nodiscard]] bool is_inside_host() noexcept;

// True when the host MPI defines `name` ("MPI_Isendrecv"). Any thread.
[[nodiscard]] bool has_function(const char *name) noexcept;

// What a reference to `name`, a function that a host MPI may lack, is to be bound to: `shell`, or null when the host
// MPI is there and has no such function, so that a program which asks first is told the truth. For the dynamic linker
// alone, in any thread.
[[nodiscard]] void *bound(const char *name, void *shell) noexcept;

// The host MPI's definition of a function that is none of MPI's own ("MPIX_..."); null when it has none. Looks through
// the libraries of the process: not for hot paths. Any thread.
[[nodiscard]] void *extension(const char *name) noexcept;

}  // namespace sluice::wire
