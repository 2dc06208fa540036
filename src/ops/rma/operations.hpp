// SPDX-License-Identifier: BSD-3-Clause
// The one-sided operations on windows of Sluice's, for the generated functions (data/window_forms.txt). Any thread, as
// MPI has it. Each returns an error code, raised already on the window; after an error in the arguments or the epoch
// nothing has been written. What comes of the operation is there after the next synchronisation, or when the request is
// complete. Block for copies of what is read, for the update lock, and while too many messages are unanswered.
#pragma once

#include "ops/rma/call.hpp"
#include "ops/rma/window.hpp"

namespace sluice::ops::rma {

// MPI_Put and MPI_Rput, MPI_Get and MPI_Rget.
[[nodiscard]] int put(Window *window, const Call &call);
[[nodiscard]] int get(Window *window, const Call &call);
// MPI_Accumulate, MPI_Get_accumulate, MPI_Fetch_and_op, and their forms with a request.
[[nodiscard]] int accumulate(Window *window, const Call &call);
[[nodiscard]] int compare_and_swap(Window *window, const Call &call);

}  // namespace sluice::ops::rma
