// SPDX-License-Identifier: BSD-3-Clause
#include "ops/env/raise.hpp"

#include <cstdint>

#include "base/log.hpp"
#include "ops/env/errors.hpp"
#include "wire/host.hpp"

namespace sluice::ops {
namespace {

// What the host MPI does when it is told of an error on an object.
enum class Handling : std::uint8_t { kFatal, kReturns, kOther };

template <typename Object>
using GetErrhandler = int (*wire::Host::*)(Object, MPI_Errhandler *);
template <typename Object>
using CallErrhandler = int (*wire::Host::*)(Object, int);

template <typename Object>
Handling handling_on(Object raised_on, GetErrhandler<Object> get) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if ((wire::host().*get)(raised_on, &handler) != MPI_SUCCESS) return Handling::kFatal;
  const Handling handling = handler == MPI_ERRORS_ARE_FATAL ? Handling::kFatal
                            : handler == MPI_ERRORS_RETURN  ? Handling::kReturns
                                                            : Handling::kOther;
  if (handler != MPI_ERRHANDLER_NULL && wire::host().MPI_Errhandler_free(&handler) != MPI_SUCCESS) {
    return Handling::kFatal;
  }
  return handling;
}

// Communicators, windows, files and sessions differ in the functions of their handlers alone.
template <typename Object>
int raise_through(Object raised_on, GetErrhandler<Object> get, CallErrhandler<Object> call, const Status &status) {
  const int code = error_code(status);
  const Handling handling = handling_on(raised_on, get);
  // There is nothing to call; and Intel MPI 2021.18 ends the job when it is asked to.
  if (handling == Handling::kReturns) return code;
  if (handling == Handling::kFatal) log::last_words("ops", status.message());
  // The handler's own result says only whether it could be called; the error to report is `code` either way.
  [[maybe_unused]] const int called = (wire::host().*call)(raised_on, code);
  return code;
}

}  // namespace

int raise(MPI_Comm communicator, const Status &status) {
  return raise_through<MPI_Comm>(communicator, &wire::Host::MPI_Comm_get_errhandler,
                                 &wire::Host::MPI_Comm_call_errhandler, status);
}

int raise_on_window(MPI_Win window, const Status &status) {
  return raise_through<MPI_Win>(window, &wire::Host::MPI_Win_get_errhandler, &wire::Host::MPI_Win_call_errhandler,
                                status);
}

int raise_on_file(MPI_File file, const Status &status) {
  return raise_through<MPI_File>(file, &wire::Host::MPI_File_get_errhandler, &wire::Host::MPI_File_call_errhandler,
                                 status);
}

int raise_on_session(MPI_Session session, const Status &status) {
  return raise_through<MPI_Session>(session, &wire::Host::MPI_Session_get_errhandler,
                                    &wire::Host::MPI_Session_call_errhandler, status);
}

}  // namespace sluice::ops
