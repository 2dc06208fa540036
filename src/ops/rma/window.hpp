// SPDX-License-Identifier: BSD-3-Clause
// Window: a window of Sluice's (docs/one-sided.md), of which a rank has device memory. The program's handle is a window
// of the host MPI's without memory on the same ranks, which has the error handler, the name, the info, the group and
// the program's attributes.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "ops/comm/staging_comm.hpp"
#include "ops/env/raise.hpp"
#include "ops/rma/allocation.hpp"
#include "ops/rma/direct.hpp"
#include "ops/rma/epochs.hpp"
#include "ops/rma/locks.hpp"
#include "ops/rma/messages.hpp"
#include "ops/rma/own_memory.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops::rma {

// Made and freed by all ranks together. Any thread may use it meanwhile, as MPI has it.
struct Window {
  MPI_Win handle = MPI_WIN_NULL;
  bool is_dynamic = false;
  int rank = 0;
  int size = 0;
  std::uint32_t number = 0;  // of its first rank's windows: the same on all ranks
  // What MPI says of this rank's part (attributes), in the types that MPI has for that.
  void *base = nullptr;
  MPI_Aint size_bytes = 0;
  int disp_unit = 1;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  int model = MPI_WIN_SEPARATE;

  Allocation allocation;   // of MPI_Win_allocate: what `base` is
  wire::OwnedGroup group;  // of the window
  std::vector<int> world_ranks;
  std::vector<Exposure> exposures;  // by rank, each checked: its size is no more than memory can be
  std::vector<bool> is_near;        // by rank: its locks are in memory that is shared with it
  device::Place place;              // of this rank's memory
  Locks locks;
  OwnMemory memory;
  std::mutex epochs_mutex;
  Epochs epochs;  // with epochs_mutex
  std::unique_ptr<DirectAccess> direct;
  std::vector<std::atomic<bool>> is_refused;  // by rank: its memory could not be mapped
  StagingComm comm;                           // of the messages; outlives them
  std::shared_ptr<Messages> messages;
  std::atomic<int> n_enqueued{0};  // operations of queues that are not complete
  std::function<void()> at_end;    // with epochs_mutex: what a queue keeps for the window is to go

  explicit Window(std::size_t n_ranks) : direct(std::make_unique<DirectAccess>(n_ranks)), is_refused(n_ranks) {}
};
using WindowPtr = std::shared_ptr<Window>;

namespace detail {
extern std::atomic<int> n_own;
// Behind a lock. Any thread.
[[nodiscard]] WindowPtr look_up(MPI_Win handle);
}  // namespace detail

// The window of Sluice's that the program knows as `handle`; null for all others. Without one, a load. Hot. Any thread.
[[nodiscard]] inline WindowPtr find_own(MPI_Win handle) {
  return detail::n_own.load(std::memory_order_acquire) == 0 ? nullptr : detail::look_up(handle);
}
// Puts a window where find_own() looks, and takes it away. Any thread.
void add_own(WindowPtr window);
void remove_own(MPI_Win handle);
// Ends the windows that a program has not freed. In MPI_Finalize, before the engine is asked whether it is done. Any
// thread.
void end_windows() noexcept;

// Runs `body`, which returns a Status, and raises its error on the window. Returns an MPI error code. Any thread.
template <typename Body>
int guarded_on(const Window &window, Body body) noexcept {
  Status status;
  try {
    status = body();
  } catch (const std::exception &error) {
    status = Status::of_exception(error);
  }
  return status.is_ok() ? MPI_SUCCESS : raise_on_window(window.handle, status);
}

// Ends all that this rank has begun on the memory of `target` (-1: of all): it is there, and the origins are the
// program's again. Blocks, in turns. Errors: the first of operations that nobody was told of. Any thread.
[[nodiscard]] Status flush_operations(Window *window, int target);

// Returns when all ranks of the window are here. Blocks, in turns. Errors: the host MPI's. One thread at a time on a
// window.
[[nodiscard]] Status come_together(const Window &window);

}  // namespace sluice::ops::rma
