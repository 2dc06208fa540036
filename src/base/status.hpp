// SPDX-License-Identifier: BSD-3-Clause
// Status: whether an internal call worked and, if not, what happened, the native text and the remedy.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace sluice {

// What is damaged, in the words that the MPI error classes need (ops/env/errors.cpp maps them).
enum class ErrorKind : std::uint8_t {
  kNone,
  kOutOfMemory,      // MPI_ERR_NO_MEM
  kBadBuffer,        // MPI_ERR_BUFFER: the caller's address cannot be used
  kInvalidArgument,  // MPI_ERR_ARG: a knob, a name
  kBadType,          // MPI_ERR_TYPE: a datatype that cannot be used, as one that is not committed
  kBackend,          // MPI_ERR_OTHER: a vendor runtime refused
  kUnsupported,      // MPI_ERR_OTHER: cannot be done here
  kTruncated,        // MPI_ERR_TRUNCATE: a message was longer than its receive
  kBadPeer,          // MPI_ERR_OTHER: what another process told cannot be, and was not done
  kBadRank,          // MPI_ERR_RANK: no such rank; of windows and what follows, too
  kBadCount,         // MPI_ERR_COUNT
  kBadSize,          // MPI_ERR_SIZE
  kBadDisplacement,  // MPI_ERR_DISP
  kBadOperation,     // MPI_ERR_OP: not MPI's own, or not on that type
  kBadGroup,         // MPI_ERR_GROUP
  kBadLockType,      // MPI_ERR_LOCKTYPE
  kBadEpoch,         // MPI_ERR_RMA_SYNC: an access or a synchronisation that MPI does not allow now
  kBadRange,         // MPI_ERR_RMA_RANGE: beyond the target's window
  kBadAttachment,    // MPI_ERR_RMA_ATTACH: memory that cannot be attached, or is not
  kInternal          // MPI_ERR_INTERN: a defect of Sluice
};

// The outcome of an internal call. A success carries no text and allocates nothing. Any thread may copy and move it.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;

  // A failure. `message` is one line: what happened, the native text if there is one, and the remedy. By the rule
  // "first to know, first to say", whoever creates it has logged nothing: the message travels to the user once, through
  // the MPI error that it becomes.
  static Status error(ErrorKind kind, std::string message) {
    Status status;
    status.kind_ = kind;
    status.message_ = std::move(message);
    return status;
  }

  // The failure that an exception is: memory that ran out, or a defect of Sluice. Errors: always one, kOutOfMemory or
  // kInternal.
  static Status of_exception(const std::exception &exception);

  // The message is empty of a success, and lives as long as this.
  [[nodiscard]] bool is_ok() const noexcept { return kind_ == ErrorKind::kNone; }
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  [[nodiscard]] const std::string &message() const noexcept { return message_; }

 private:
  ErrorKind kind_ = ErrorKind::kNone;
  std::string message_;
};

}  // namespace sluice
