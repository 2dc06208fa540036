// SPDX-License-Identifier: BSD-3-Clause
#include "ops/env/errors.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <utility>

#include "wire/host.hpp"

namespace sluice::ops {
namespace {

thread_local std::string last_error_text;

// The codes that Sluice added, one for each kind of error, and the text of each one's last error.
class AddedCodes {
 public:
  // The code for `kind`, made at the first call, with `text` from now on; the class itself when the host cannot add
  // one.
  int set(ErrorKind kind, int error_class, std::string text) {
    const std::scoped_lock lock(mutex_);
    Entry &entry = entries_.at(static_cast<std::size_t>(kind));
    if (entry.code == 0 && wire::host().MPI_Add_error_code(error_class, &entry.code) != MPI_SUCCESS) {
      entry.code = 0;
      return error_class;
    }
    entry.text = std::move(text);
    // The host MPI's own copy, for messages that it prints itself.
    return wire::host().MPI_Add_error_string(entry.code, entry.text.c_str()) == MPI_SUCCESS ? entry.code : error_class;
  }

  bool find(int code, std::string *text) const {
    const std::scoped_lock lock(mutex_);
    for (const Entry &entry : entries_) {
      if (code == 0 || entry.code != code) continue;
      *text = entry.text;
      return true;
    }
    return false;
  }

 private:
  struct Entry {
    int code = 0;  // 0: not made yet
    std::string text;
  };
  mutable std::mutex mutex_;
  std::array<Entry, static_cast<std::size_t>(ErrorKind::kInternal) + 1> entries_;
};

AddedCodes &added_codes() {
  static auto *codes = new AddedCodes;  // never destroyed: errors are raised while the process exits, too
  return *codes;
}

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
    case ErrorKind::kBadType:
      return MPI_ERR_TYPE;
    case ErrorKind::kTruncated:
      return MPI_ERR_TRUNCATE;
    case ErrorKind::kBadRank:
      return MPI_ERR_RANK;
    case ErrorKind::kBadCount:
      return MPI_ERR_COUNT;
    case ErrorKind::kBadSize:
      return MPI_ERR_SIZE;
    case ErrorKind::kBadDisplacement:
      return MPI_ERR_DISP;
    case ErrorKind::kBadOperation:
      return MPI_ERR_OP;
    case ErrorKind::kBadGroup:
      return MPI_ERR_GROUP;
    case ErrorKind::kBadLockType:
      return MPI_ERR_LOCKTYPE;
    case ErrorKind::kBadEpoch:
      return MPI_ERR_RMA_SYNC;
    case ErrorKind::kBadRange:
      return MPI_ERR_RMA_RANGE;
    case ErrorKind::kBadAttachment:
      return MPI_ERR_RMA_ATTACH;
    case ErrorKind::kInternal:
      return MPI_ERR_INTERN;
    case ErrorKind::kBackend:
    case ErrorKind::kBadPeer:
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

ErrorKind kind_of(int code) noexcept {
  int error_class = MPI_ERR_OTHER;
  if (wire::host().MPI_Error_class(code, &error_class) != MPI_SUCCESS) return ErrorKind::kBackend;
  switch (error_class) {
    case MPI_ERR_NO_MEM:
      return ErrorKind::kOutOfMemory;
    case MPI_ERR_BUFFER:
      return ErrorKind::kBadBuffer;
    case MPI_ERR_TYPE:
      return ErrorKind::kBadType;
    case MPI_ERR_TRUNCATE:
      return ErrorKind::kTruncated;
    case MPI_ERR_ARG:
    case MPI_ERR_COMM:
    case MPI_ERR_RANK:
    case MPI_ERR_TAG:
      return ErrorKind::kInvalidArgument;
    default:
      return ErrorKind::kBackend;
  }
}

int error_code(const Status &status) {
  set_last_error(status);
  // MPI_MAX_ERROR_STRING counts the terminating zero.
  return added_codes().set(status.kind(), class_of(status.kind()),
                           ("sluice: " + status.message()).substr(0, MPI_MAX_ERROR_STRING - 1));
}

bool find_error_text(int code, std::string *text) {
  return added_codes().find(code, text);
}

}  // namespace sluice::ops
