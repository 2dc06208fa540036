// SPDX-License-Identifier: BSD-3-Clause
// FileState: what Sluice knows of one of the program's files, from its opening to its closing.
#pragma once

#include <memory>

#include "ops/coll/call/call_order.hpp"
#include "ops/comm/staging_comm.hpp"
#include "wire/mpi.hpp"

namespace sluice::ops::io {

struct SplitCall;

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
  // Of collective calls that make calls of the host MPI block by block.
  coll::CallOrder order;
  // Between the two calls of a split collective one, of which a file has one at a time.
  std::unique_ptr<SplitCall> split;

  // Its ranks can agree.
  [[nodiscard]] bool has_agreement() const noexcept { return is_of_one_rank || comm.get() != MPI_COMM_NULL; }
};

using FileStatePtr = std::shared_ptr<FileState>;

// The state of `file`; of one that was opened past Sluice a new one, whose ranks cannot agree. Any thread. Throws
// std::bad_alloc.
[[nodiscard]] FileStatePtr state_of(MPI_File file);

}  // namespace sluice::ops::io
