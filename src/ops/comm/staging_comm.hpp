// SPDX-License-Identifier: BSD-3-Clause
// StagingComm: a communicator of ours with the ranks of another.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "wire/owned_handle.hpp"

namespace sluice::ops {

// A communicator of ours with the ranks of a program's one, for what non-blocking calls stage: they find out late that
// they do, and MPI orders the calls of a communicator. Move only. Freed when destroyed, before MPI_Finalize at least.
// One thread at a time.
class StagingComm {
 public:
  StagingComm() noexcept = default;
  ~StagingComm();
  StagingComm(const StagingComm &) = delete;
  StagingComm &operator=(const StagingComm &) = delete;
  StagingComm(StagingComm &&) = delete;
  StagingComm &operator=(StagingComm &&) = delete;

  // Collective over `comm`. Blocks, in turns until all are here. Has its topology, if any. *is_made is the same on all
  // ranks: false where one of them has no room for another (MPICH has some 2000 communicators in all, which are the
  // program's first of all), or could not make it; its error handler hears nothing of that. Errors: the ranks could not
  // agree.
  [[nodiscard]] Status make(MPI_Comm comm, bool *is_made);
  // The same without blocking: it is there when *request is complete, which whoever asks has to see. The host MPI
  // copies the program's attributes, as for any duplicate: it has no other way to make a communicator that does not
  // wait. Errors: the host MPI refuses.
  [[nodiscard]] Status start_duplicate(MPI_Comm comm, MPI_Request *request);
  // MPI_COMM_NULL before. Returns errors.
  [[nodiscard]] MPI_Comm get() const noexcept { return comm_.get(); }

 private:
  wire::OwnedComm comm_;
  bool is_counted_ = false;
};

using StagingCommPtr = std::shared_ptr<StagingComm>;

}  // namespace sluice::ops
