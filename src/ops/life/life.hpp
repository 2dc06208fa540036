// SPDX-License-Identifier: BSD-3-Clause
// What happens once in the life of a process: after the first initialisation of MPI and before its last end. Threads:
// any for all but end(): the one that ends MPI, while no other begins it.
#pragma once

namespace sluice::ops {

// Loads what can be loaded while the host MPI has not taken its file descriptors. Before MPI_Init or MPI_Session_init.
void prepare() noexcept;

// Reads the knobs, starts the statistics, loads what can be loaded. After MPI_Init or MPI_Session_init; later calls do
// nothing. `has_world`: MPI_COMM_WORLD may be asked for the rank.
void begin(bool has_world) noexcept;

// Completes what the program left behind, prints the statistics, gives back what is pooled. Before the host MPI ends.
void end() noexcept;

// The host MPI is to be initialised with MPI_THREAD_MULTIPLE: SLUICE_PROGRESS_THREAD says so, or the program enqueues
// messages into streams by MPICH's functions, with which MPI_Init is enough.
[[nodiscard]] bool wants_all_threads() noexcept;

}  // namespace sluice::ops
