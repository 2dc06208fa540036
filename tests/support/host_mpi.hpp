// SPDX-License-Identifier: BSD-3-Clause
// The host MPI itself: its own functions, and what it gets wrong with Sluice absent. A test that meets such a fault is
// cut down or skipped there, by these names only.
#pragma once

#include <string_view>

namespace sluice::tests {

// The host MPI library's own definition of a PMPI_ function, past every preloaded library; null when no library of the
// process but preloaded ones has it.
void *find_host_function(const char *name);

template <class Function>
Function *host_function(const char *name, Function *visible) {
  void *found = find_host_function(name);
  return found != nullptr ? reinterpret_cast<Function *>(found) : visible;
}

// Open MPI: a persistent buffered send that is started again sends old or zero bytes above the eager size.
bool loses_data_in_restarted_bsend();

// A call of `operation`, in lower case, of which one rank gives another length than the others, a longer one where
// `is_longer`: MPI_Allgatherv waits for ever for what does not come. In Open MPI also reductions and what all ranks
// send to all, for which ranks choose different algorithms by their lengths. In MPICH 4.2 a message that is too long
// for its block ends the job under MPI_ERRORS_RETURN, in most operations.
bool never_ends_with_unlike_lengths(std::string_view operation, bool is_longer);

// MPICH 4.2: MPI_Session_call_errhandler ends the job where the session's handler is MPI_ERRORS_RETURN.
bool aborts_in_session_handlers();

// Open MPI: a collective call that writes a read-only file fails at some of the ranks, or at none.
bool writes_read_only_files_together();

// Open MPI: a write or a read that the system cuts off, because the disk is full or broken, is a success.
bool takes_cut_calls_for_whole();

// Open MPI: a read in atomic mode sees a part of another rank's write.
bool tears_reads_in_atomic_mode();

// What the host MPI takes for MPI_SEEK_SET. Intel MPI through its MPI-5 interface takes MPI_SEEK_SET for MPI_SEEK_END,
// MPI_SEEK_CUR for MPI_SEEK_SET and MPI_SEEK_END for MPI_SEEK_CUR.
int seek_set();

// Intel MPI: MPI_File_iread moves the individual pointer by what is there, not by what is asked for.
bool ends_pointers_at_the_end();

// Intel MPI: MPI_File_iwrite_at_all and its kin end in a segmentation fault in atomic mode.
bool crashes_in_atomic_requests();

// Intel MPI through its MPI-5 interface: a call on a file ends the job if a subarray with gaps is its memory's type or
// the view's.
bool aborts_on_subarrays_in_files();

// MPICH 5: MPI_File_iwrite_at_all and MPI_File_iwrite_all of ranks that overlap, in atomic mode, leave parts of several
// ranks' data.
bool tears_collective_requests_in_atomic_mode();

// Open MPI: in atomic mode a request keeps a lock of the file until it is complete. Two ranks with requests that call
// for each other's bytes get an error ("Resource deadlock avoided").
bool keeps_locks_of_requests_in_atomic_mode();

// Open MPI: a split collective call, or one with a request, that reads behind the end of a file never ends.
bool hangs_in_pending_reads_behind_the_end();

// Open MPI and Intel MPI: MPI_Accumulate or MPI_Get_accumulate of several pairs with a gap (MPI_DOUBLE_INT,
// MPI_SHORT_INT) leaves the last ones as they were, or writes beside its memory.
bool loses_pairs_in_accumulates();

// MPICH and Intel MPI: MPI_Testall over several requests on files frees one of them twice. MPICH 4 then ends the job
// ("ref_count >= 0"), the others take the request for none.
bool loses_file_requests_in_testall();

// MPICH and Intel MPI: messages of two collective calls with requests that are under way on a file are taken for each
// other. MPICH 5 then ends the job ("element_size < 0"), MPICH 4 never completes them.
bool mixes_collective_file_requests();

// Open MPI 4: now and then (one program in some 300 on three ranks) a split collective call that writes, or one with a
// request, leaves a block of the file as it was.
bool loses_blocks_of_collective_file_requests();

// MPICH and Intel MPI: for some nested types of memory file calls write beside their memory (MPICH 4: "malloc():
// unaligned tcache chunk detected"), or leave it as it was (MPICH 5: reading calls with requests). For which ones was
// not found out.
bool misplaces_nested_types_in_files();

// MPICH 5 and Intel MPI through the MPI-5 interface: MPI_File_write and its kin end in a segmentation fault on
// MPI_FILE_NULL.
bool crashes_on_no_file();

// MPICH and Intel MPI: calls with requests, and types with gaps, write beside memory through a view in `external32`
// ("malloc(): corrupted top size").
bool overruns_in_external_views();

// MPICH and Intel MPI: MPI_File_read_ordered does not convert what it reads through a view in `external32`.
bool leaves_ordered_reads_as_in_the_file();

// Intel MPI 2021 through its MPI-5 interface: a truncated receive ends the job even under MPI_ERRORS_RETURN, or is not
// noticed (receives of 0 bytes).
bool aborts_on_truncation();

// Intel MPI 2021: a question about a type of the MPI-5 header that it does not have (MPI_REAL2) ends the job.
bool aborts_on_unknown_types();

// Intel MPI 2021: MPI_Unpack_external of no elements ends the job ("Unhandled conversion of unequal size").
bool aborts_on_external_unpack_of_nothing();

// MPICH, Intel MPI: what arrives in pieces (buffered sends, long messages), or ends within an element, is now and then
// called truncated when it is received into a type with gaps of predefined types of different lengths; and
// MPI_Get_elements of such a type made by MPI_Type_create_darray ends the job ("Assertion failed in file
// src/mpi/datatype/get_elements_x.c").
bool mishandles_types_of_uneven_lengths();

// Hosts under which random programs, of messages and of collective calls, have no random nested types. Intel MPI and
// Open MPI 5: MPI_Unpack of some writes beside its memory ("double free or corruption"; by which constructor was not
// found out).
bool lacks_nested_types_in_programs();

// MPICH and Intel MPI: MPI_Testall over partitioned requests of which not all are complete fails. (They also crash in
// MPI_Psend_init for MPI_PROC_NULL, which no test does.)
bool fails_in_testall_of_partitions();

// MPICH 4.0: MPI_Parrived is an error for an inactive request.
bool refuses_parrived_of_inactive();

// Open MPI 4 with MPI_THREAD_MULTIPLE: MPI_Waitall over a truncated receive and a send in rendezvous never returns.
bool hangs_in_truncated_waitall();

// MPICH 4, Intel MPI: a persistent collective copies within a rank when it is made, not when it is started, and gives
// back its memory at the end of its first start (4.0), or never moves the root's own block (MPI_Gather_init of 4.2).
bool breaks_persistent_collectives();

// MPICH, Intel MPI: MPI_Reduce_scatter_block, and MPI_Reduce_scatter of blocks of one length, by an operation that does
// not commute, on 2, 4 or 8 ranks, take elements to be as far apart as they reach. Of a type that begins or ends with a
// gap the result is wrong, and MPICH writes behind its own memory. So do its persistent forms on one rank (MPICH 5).
bool overruns_in_reduce_scatter_block();

// Open MPI: after MPI_Ialltoallv in place with no elements at some ranks alone, non-blocking collectives never end.
bool hangs_after_empty_ialltoallv();

// MPICH, Intel MPI: MPI_Ibcast and MPI_Bcast_init on an intercommunicator are complete before the data is there.
bool loses_data_between_groups();

// MPICH 4.0, Intel MPI: MPI_Ialltoallw in place with different types for different ranks takes one for the other.
bool mixes_types_in_place();

// MPICH 4.0: MPI_Allgatherv by a group of one rank leaves the displacement of its block out of account; between groups
// of which one has one rank it never ends.
bool misplaces_allgatherv_of_one_rank();

// MPICH 4.0, Open MPI: on a graph whose ranks have different numbers of sources and destinations
// MPI_Neighbor_alltoallw is complete before the data is there (MPICH), or neighbours' messages are taken for each
// other, or never come (Open MPI).
bool fails_on_uneven_graphs();

// Open MPI: MPI_Alltoallw on a communicator of one rank takes its displacements for others.
bool misplaces_alltoallw_of_one_rank();

// Open MPI: MPI_Scatterv between groups takes the root's counts for counts of the receivers' types.
bool mixes_types_between_groups();

// MPICH 5: MPI_Testall calls a persistent collective operation no valid request.
bool fails_in_testall_of_collectives();

// By an operation of the program's own that commutes, on a type whose lower bound is not zero, these give a wrong
// result and write beside their buffers: MPI_Reduce of MPICH 5; MPI_Reduce and MPI_Allreduce of Intel MPI and of Open
// MPI 5; MPI_Ireduce of Open MPI, and on 3 ranks the blocking forms of Open MPI 4 too.
bool overruns_in_reduce_with_lower_bound();
bool overruns_in_ireduce_with_lower_bound();

// Open MPI 4: MPI_Ialltoallw on a communicator with a topology looks for as many types as there are neighbours.
bool miscounts_types_in_ialltoallw();

// Open MPI: collective calls with a datatype that is not committed end in a segmentation fault.
bool crashes_on_uncommitted_types();

// One MPI_Win_test behind a barrier may not see an epoch that was over before it (MPICH 5), or the window is refused
// (Open MPI 4).
bool needs_several_win_tests();

// Open MPI 5: MPI_Accumulate of 64-bit integers by MPI_BAND, MPI_BOR and MPI_BXOR between processes of one node changes
// nothing.
bool loses_bitwise_accumulates();

// Open MPI 5 without single-copy memory: one MPI_Put or MPI_Get of 20,000 runs ends now and then in a segmentation
// fault of the host's own, in a later call (`mca_btl_sm_poll_handle_frag`). It does so without Sluice, too.
bool crashes_on_many_runs_in_windows();

// Open MPI: MPI_Alltoallw of long messages between groups of different sizes never ends.
bool hangs_in_alltoallw_between_groups();

}  // namespace sluice::tests
