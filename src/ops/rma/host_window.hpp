// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations of device memory on windows of the host MPI's, for the generated functions
// (data/window_forms.txt): the host MPI is given memory of the host in place of each buffer on a device. That memory
// stays until the operation is complete; what was fetched is copied up then.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "ops/rma/call.hpp"

namespace sluice::ops::rma {

// Hands an operation on to the host MPI by call->by_host, whose arguments it may change before. Blocks for copies down
// of what is read. Any thread. Returns an error code, raised already on the window; of memory that was freed, of the
// runtime and of staging memory, after which nothing was begun.
[[nodiscard]] int operate_by_host(MPI_Win window, Call *call) noexcept;

// What an operation on a window of the host MPI's still needs.
class StagedAccess;

namespace detail {
extern std::atomic<int> n_staged;  // operations that are not known to be complete
using StagedAccesses = std::vector<std::shared_ptr<StagedAccess>>;
// Those on `target` (-1: on all ranks), which are the caller's to end now. Any thread.
[[nodiscard]] StagedAccesses take_staged(MPI_Win window, int target);
// Has the host MPI complete them at their targets, in a passive-target epoch. Returns an error code of its own. Any
// thread, of what it has taken.
[[nodiscard]] int flush_staged(MPI_Win window, const StagedAccesses &accesses) noexcept;
// `code`: of the function that completes them. Returns it, or that of an error of the copies up, raised already. Any
// thread, of what it has taken.
[[nodiscard]] int end_staged(MPI_Win window, StagedAccesses accesses, int code) noexcept;
}  // namespace detail

// Whether the host MPI's function can be believed.
enum class Completion : std::uint8_t {
  kSure,
  // MPI_Win_flush_local, MPI_Win_flush_all and MPI_Win_flush_local_all. Two hosts say too early that a get is complete:
  // MPICH 4.0 from a local flush, if a put follows the get, and Open MPI 5 from a flush of all under MPI_Win_lock. So
  // the targets of what comes up are flushed one by one.
  kMaybeEarly
};

// Calls `complete`, a function of the host MPI's that completes the operations on `target` (-1: on all ranks), and
// brings up what they have fetched. Without operations of device memory, a load more than the call alone. Any thread.
template <typename Complete>
int complete_by_host(MPI_Win window, int target, Completion completion, Complete complete) {
  if (detail::n_staged.load(std::memory_order_acquire) == 0) return complete();
  // Those that another thread begins meanwhile are not completed here.
  detail::StagedAccesses accesses = detail::take_staged(window, target);
  int code = complete();
  if (code == MPI_SUCCESS && completion == Completion::kMaybeEarly) code = detail::flush_staged(window, accesses);
  return detail::end_staged(window, std::move(accesses), code);
}

}  // namespace sluice::ops::rma
