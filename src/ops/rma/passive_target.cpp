// SPDX-License-Identifier: BSD-3-Clause
// Passive target synchronisation: locks and flushes.
#include <string>
#include <utility>

#include "ops/request/turns.hpp"
#include "ops/rma/synchronization.hpp"

namespace sluice::ops::rma {
namespace {

using Lock = Epochs::Lock;

Status check_rank(const Window &window, int rank) {
  if (rank >= 0 && rank < window.size) return {};
  return Status::error(ErrorKind::kBadRank, "the window has " + std::to_string(window.size) + " ranks, and no rank " +
                                                std::to_string(rank) + "; give a rank of the window's group");
}

// Asks a rank of another node for its lock, or gives it back. *asked is done when the rank has answered.
Status ask_elsewhere(Window *window, int rank, transfer::WindowAction action, bool is_alone, AskedPtr *asked) {
  transfer::WindowHeader header;
  header.action = action;
  header.flag = is_alone ? 1 : 0;
  *asked = std::make_shared<Asked>();
  Status status = window->messages->ask(rank, header, {}, {}, *asked);
  window->messages->close(*asked, {});
  return status;
}

bool is_near(const Window &window, int rank) {
  return window.is_near[static_cast<std::size_t>(rank)];
}

// Blocks until this rank holds the lock of `rank`.
Status take(Window *window, int rank, bool is_alone) {
  if (is_near(*window, rank)) {
    LockHold hold(window->locks.of(rank), is_alone);
    progress::turn_until([&] { return hold.try_take(); });
    return {};
  }
  AskedPtr asked;
  Status status = ask_elsewhere(window, rank, transfer::WindowAction::kLock, is_alone, &asked);
  if (!status.is_ok()) return status;
  progress::turn_until([&] { return asked->is_done.load(std::memory_order_acquire); });
  return asked->outcome;
}

Status give_back(Window *window, int rank, bool is_alone) {
  if (is_near(*window, rank)) {
    LockHold(window->locks.of(rank), is_alone).give_back();
    return {};
  }
  AskedPtr asked;
  return ask_elsewhere(window, rank, transfer::WindowAction::kUnlock, is_alone, &asked);
}

// `rank`: of one target, or -1 for all.
int flush(Window *window, int rank) {
  return guarded_on(*window, [&]() -> Status {
    {
      const std::scoped_lock lock(window->epochs_mutex);
      if (Status status = window->epochs.flush(rank); !status.is_ok()) return status;
    }
    return flush_operations(window, rank);
  });
}

}  // namespace

int win_lock(Window *window, int lock_type, int rank, int assertion) {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  return guarded_on(*window, [&]() -> Status {
    if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE) {
      return Status::error(
          ErrorKind::kBadLockType,
          "MPI_Win_lock was given a type of lock that is none; give MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE");
    }
    if (Status status = check_rank(*window, rank); !status.is_ok()) return status;
    const bool is_alone = lock_type == MPI_LOCK_EXCLUSIVE;
    const bool is_checked = (assertion & MPI_MODE_NOCHECK) == 0;
    {
      const std::scoped_lock lock(window->epochs_mutex);
      const Lock held = !is_checked ? Lock::kNone : is_alone ? Lock::kAlone : Lock::kShared;
      if (Status status = window->epochs.lock(rank, held); !status.is_ok()) return status;
    }
    return is_checked ? take(window, rank, is_alone) : Status();
  });
}

int win_unlock(Window *window, int rank) {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  return guarded_on(*window, [&]() -> Status {
    if (Status status = check_rank(*window, rank); !status.is_ok()) return status;
    Lock held = Lock::kNone;
    {
      const std::scoped_lock lock(window->epochs_mutex);
      if (Status status = window->epochs.unlock(rank, &held); !status.is_ok()) return status;
    }
    Status status = flush_operations(window, rank);
    const Status given = held == Lock::kNone ? Status() : give_back(window, rank, held == Lock::kAlone);
    return status.is_ok() ? given : status;
  });
}

int win_lock_all(Window *window, int assertion) {
  return guarded_on(*window, [&]() -> Status {
    const bool is_checked = (assertion & MPI_MODE_NOCHECK) == 0;
    {
      const std::scoped_lock lock(window->epochs_mutex);
      if (Status status = window->epochs.lock_all(is_checked); !status.is_ok()) return status;
    }
    Status status;
    for (int rank = 0; is_checked && status.is_ok() && rank < window->size; ++rank) status = take(window, rank, false);
    return status;
  });
}

int win_unlock_all(Window *window) {
  return guarded_on(*window, [&]() -> Status {
    bool is_held = false;
    {
      const std::scoped_lock lock(window->epochs_mutex);
      if (Status status = window->epochs.unlock_all(&is_held); !status.is_ok()) return status;
    }
    Status status = flush_operations(window, -1);
    for (int rank = 0; is_held && rank < window->size; ++rank) {
      Status given = give_back(window, rank, false);
      if (status.is_ok()) status = std::move(given);
    }
    return status;
  });
}

int win_flush(Window *window, int rank) {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  const Status status = check_rank(*window, rank);
  return status.is_ok() ? flush(window, rank) : raise_on_window(window->handle, status);
}

int win_flush_all(Window *window) {
  return flush(window, -1);
}

int win_flush_local(Window *window, int rank) {
  return win_flush(window, rank);
}

int win_flush_local_all(Window *window) {
  return win_flush_all(window);
}

int win_sync(Window *window) {
  return guarded_on(*window, []() -> Status {
    progress::Engine::process().turn();
    __sync_synchronize();  // a full barrier; the thread sanitizer does not know the one of <atomic>
    return {};
  });
}

}  // namespace sluice::ops::rma
