// SPDX-License-Identifier: BSD-3-Clause
// Calls by the shared pointer of a file, one at a time, so that none moves the pointer between the blocks of another.
// All ranks of a file take turns, those with host memory, too, if they have a lock.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "ops/coll/call/call_order.hpp"
#include "wire/mpi.hpp"
#include "wire/shared_lock.hpp"

namespace sluice::ops::io {

// Of the files of the same ranks.
struct SharedPointer {
  wire::SharedLock lock;  // between the ranks; none of one rank
  coll::CallOrder order;  // between the threads of this one, for which the lock is one
  std::atomic<std::thread::id> owner{};
  long long number = 0;  // by which ranks see that they mean the same lock; not 0
};
using SharedPointerPtr = std::shared_ptr<SharedPointer>;

// What was shared last, if that was with these ranks of MPI_COMM_WORLD; else null. Any thread.
[[nodiscard]] SharedPointerPtr last_shared_pointer(const std::vector<int> &world_ranks);
// Makes one for these ranks, which are those of `comm` and on one node. Collective over `comm`; blocks, in turns.
// *shared is null on all of them where one could not. Errors: why this rank could not. One thread at a time on a
// communicator.
[[nodiscard]] Status share_pointer(MPI_Comm comm, const std::vector<int> &world_ranks, SharedPointerPtr *shared);

// Waits, in turns, until nobody else of the ranks has one; whoever has one waits for no rank but those in an ordered
// call with it. Nothing where there is no shared pointer's lock (null); and in an error handler of the program's that
// runs while its thread has one. The thread of the call, from the beginning to the end.
class SharedTurn {
 public:
  explicit SharedTurn(SharedPointerPtr shared);
  ~SharedTurn();
  SharedTurn(const SharedTurn &) = delete;
  SharedTurn &operator=(const SharedTurn &) = delete;
  SharedTurn(SharedTurn &&) = delete;
  SharedTurn &operator=(SharedTurn &&) = delete;

  // An error: the system gives no lock, so the call must not move the pointer.
  [[nodiscard]] const Status &status() const noexcept { return status_; }

 private:
  SharedPointerPtr shared_;  // null: nothing is taken
  bool is_locked_ = false;
  Status status_;
};

}  // namespace sluice::ops::io
