// SPDX-License-Identifier: BSD-3-Clause
// FileState: what Sluice knows of one of the program's files, from its opening to its closing.
#pragma once

#include <memory>
#include <mutex>

#include "ops/coll/call/call_order.hpp"
#include "ops/comm/staging_comm.hpp"
#include "ops/io/shared_pointer.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::io {

struct SplitCall;

// Threads: any. `comm` and `split` are for one collective call at a time; all else does not change once the file is
// open, or has a lock.
struct FileState {
  FileState();
  ~FileState();
  FileState(const FileState &) = delete;
  FileState &operator=(const FileState &) = delete;
  FileState(FileState &&) = delete;
  FileState &operator=(FileState &&) = delete;

  // Of Sluice's own, with the ranks of the file: on it they agree how a collective call goes. MPI_COMM_NULL where they
  // could not make one, and for a file of one rank.
  StagingComm comm;
  bool is_of_one_rank = false;
  bool is_of_one_thread = false;  // at each rank one thread at a time calls MPI
  // Of collective calls that make calls of the host MPI block by block.
  coll::CallOrder order;
  // Of what reads or moves the individual pointer (own_pointer.hpp).
  std::recursive_mutex pointer;
  // Of the calls by the shared pointer (shared_pointer.hpp). Null for a file of several ranks that have no lock.
  SharedPointerPtr shared;
  // Between the two calls of a split collective one, of which a file has one at a time.
  std::unique_ptr<SplitCall> split;

  // Its ranks can agree.
  [[nodiscard]] bool has_agreement() const noexcept { return is_of_one_rank || comm.get() != MPI_COMM_NULL; }
  // Nobody moves the shared pointer between the blocks of a call. This and the next one: the same on all ranks.
  [[nodiscard]] bool has_shared_turns() const noexcept { return shared != nullptr; }
  // Nor while an ordered call is under way.
  [[nodiscard]] bool may_place_ordered() const noexcept { return has_shared_turns() || is_of_one_thread; }
};

using FileStatePtr = std::shared_ptr<FileState>;

// The state of `file`; of one that was opened past Sluice a new one, whose ranks cannot agree. Any thread. Throws
// std::bad_alloc.
[[nodiscard]] FileStatePtr state_of(MPI_File file);
// The same, but null for a file that has none. Any thread.
[[nodiscard]] FileStatePtr known_state_of(MPI_File file);

}  // namespace sluice::ops::io
