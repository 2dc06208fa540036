// SPDX-License-Identifier: BSD-3-Clause
// The host MPI itself: its own functions, and what it gets wrong with Sluice absent. A test that meets such a fault is
// cut down or skipped there, by these names only.
#pragma once

namespace sluice::tests {

// The host MPI library's own definition of a PMPI_ function, past every preloaded library; null when no library of the
// process but preloaded ones has it.
void *find_host_function(const char *name);

template <class Function>
Function *host_function(const char *name, Function *visible) {
  void *found = find_host_function(name);
  return found != nullptr ? reinterpret_cast<Function *>(found) : visible;
}

// Open MPI 4: a persistent buffered send that is started again sends old or zero bytes above the eager size.
bool loses_data_in_restarted_bsend();

// Intel MPI 2021 through its MPI-5 interface: a truncated receive ends the job even under MPI_ERRORS_RETURN, or is not
// noticed (receives of 0 bytes).
bool aborts_on_truncation();

// MPICH and Intel MPI: MPI_Testall over partitioned requests of which not all are complete fails. (They also crash in
// MPI_Psend_init for MPI_PROC_NULL, which no test does.)
bool fails_in_testall_of_partitions();

// MPICH 4.0: MPI_Parrived is an error for an inactive request.
bool refuses_parrived_of_inactive();

// Open MPI 4 with MPI_THREAD_MULTIPLE: MPI_Waitall over a truncated receive and a send in rendezvous never returns.
bool hangs_in_truncated_waitall();

}  // namespace sluice::tests
