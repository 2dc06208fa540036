// SPDX-License-Identifier: BSD-3-Clause
#include "ops/env/quiet_errors.hpp"

#include "base/log.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

thread_local bool is_seen = false;

void note_error(MPI_Comm * /*communicator*/, int * /*code*/, ... /*host's own*/) {
  is_seen = true;
}

}  // namespace

bool make_quiet(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (wire::host().MPI_Comm_create_errhandler(note_error, &handler) != MPI_SUCCESS) return false;
  const int set = wire::host().MPI_Comm_set_errhandler(comm, handler);
  return wire::host().MPI_Errhandler_free(&handler) == MPI_SUCCESS && set == MPI_SUCCESS;
}

bool is_error_seen() noexcept {
  return is_seen;
}

void forget_error() noexcept {
  is_seen = false;
}

QuietErrors::QuietErrors(MPI_Comm comm) : comm_(comm) {
  forget_error();
  if (wire::host().MPI_Comm_get_errhandler(comm, &before_) != MPI_SUCCESS) before_ = MPI_ERRHANDLER_NULL;
  if (before_ != MPI_ERRHANDLER_NULL && !make_quiet(comm)) log::debug("ops", "errors cannot be kept from the program");
}

QuietErrors::~QuietErrors() {
  if (before_ == MPI_ERRHANDLER_NULL) return;
  if (wire::host().MPI_Comm_set_errhandler(comm_, before_) != MPI_SUCCESS) {
    log::error("ops", "a communicator's error handler could not be put back");
  }
  const bool is_predefined = before_ == MPI_ERRORS_ARE_FATAL || before_ == MPI_ERRORS_RETURN;
  if (!is_predefined && wire::host().MPI_Errhandler_free(&before_) != MPI_SUCCESS) {
    log::debug("ops", "an error handler could not be freed");
  }
}

}  // namespace sluice::ops
