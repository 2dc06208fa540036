// SPDX-License-Identifier: BSD-3-Clause
#include "ops/env/errors.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>

#include "wire/host.hpp"

namespace sluice::ops {
namespace {

thread_local std::string last_error_text;

int class_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kNone:
      return MPI_SUCCESS;
    case ErrorKind::kOutOfMemory:
      return MPI_ERR_NO_MEM;
    case ErrorKind::kBadBuffer:
      return MPI_ERR_BUFFER;
    case ErrorKind::kInvalidArgument:
      return MPI_ERR_ARG;
    case ErrorKind::kInternal:
      return MPI_ERR_INTERN;
    case ErrorKind::kBackend:
    case ErrorKind::kUnsupported:
      return MPI_ERR_OTHER;
  }
  return MPI_ERR_OTHER;
}

}  // namespace

void set_last_error(const Status &status) {
  last_error_text = status.message();
}

const char *last_error() noexcept {
  return last_error_text.c_str();
}

int error_code(const Status &status) {
  static std::mutex mutex;
  static std::array<int, static_cast<std::size_t>(ErrorKind::kInternal) + 1> codes{};  // 0: not made yet
  set_last_error(status);
  const int error_class = class_of(status.kind());
  const std::scoped_lock lock(mutex);
  int &code = codes.at(static_cast<std::size_t>(status.kind()));
  if (code == 0 && wire::host().MPI_Add_error_code(error_class, &code) != MPI_SUCCESS) {
    code = 0;
    return error_class;
  }
  // MPI_MAX_ERROR_STRING counts the terminating zero.
  const std::string text = ("sluice: " + status.message()).substr(0, MPI_MAX_ERROR_STRING - 1);
  if (wire::host().MPI_Add_error_string(code, text.c_str()) != MPI_SUCCESS) return error_class;
  return code;
}

int raise(MPI_Comm communicator, const Status &status) {
  const int code = error_code(status);
  // The handler's own result says only whether it could be called; the error to report is `code` either way.
  [[maybe_unused]] const int called = wire::host().MPI_Comm_call_errhandler(communicator, code);
  return code;
}

}  // namespace sluice::ops
