// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation of windows of Sluice's, and what is asked of such a window, for the generated functions
// (data/window_forms.txt). The arguments are those of MPI's functions. Any thread, as MPI has it. Each returns an error
// code, raised already on the window. Those that MPI lets wait block, in turns; a wrong epoch is an error before
// anything is waited for.
#pragma once

#include "ops/rma/window.hpp"

namespace sluice::ops::rma {

// Between processes that access and those that are accessed, as the functions of MPI that are named so.
[[nodiscard]] int win_fence(Window *window, int assertion);
[[nodiscard]] int win_start(Window *window, MPI_Group group, int assertion);
[[nodiscard]] int win_complete(Window *window);
[[nodiscard]] int win_post(Window *window, MPI_Group group, int assertion);
[[nodiscard]] int win_wait(Window *window);
[[nodiscard]] int win_test(Window *window, int *flag);
[[nodiscard]] int win_lock(Window *window, int lock_type, int rank, int assertion);
[[nodiscard]] int win_unlock(Window *window, int rank);
[[nodiscard]] int win_lock_all(Window *window, int assertion);
[[nodiscard]] int win_unlock_all(Window *window);
[[nodiscard]] int win_flush(Window *window, int rank);
[[nodiscard]] int win_flush_all(Window *window);
// These do the same as the two above: what has come to the target has also left the origin.
[[nodiscard]] int win_flush_local(Window *window, int rank);
[[nodiscard]] int win_flush_local_all(Window *window);
[[nodiscard]] int win_sync(Window *window);

// Memory of a dynamic window, and what MPI says of a window.
[[nodiscard]] int win_attach(Window *window, void *base, MPI_Aint size_bytes);
[[nodiscard]] int win_detach(Window *window, const void *base);
[[nodiscard]] int win_get_attr(Window *window, int keyval, void *value, int *flag);
// *base, a pointer: this rank's own memory; that of another rank of the node as it is mapped here, for this rank's
// device and as long as the window; null with a size of 0 for all that this rank does not reach. `rank`: MPI_PROC_NULL
// for the lowest that has memory. May block for mapping.
[[nodiscard]] int win_shared_query(Window *window, int rank, MPI_Aint *size_bytes, int *disp_unit, void *base);
[[nodiscard]] int win_shared_query(Window *window, int rank, MPI_Aint *size_bytes, MPI_Aint *disp_unit, void *base);

}  // namespace sluice::ops::rma
