// SPDX-License-Identifier: BSD-3-Clause
// FileDescriptor: an open file of this process, closed at its end.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/log.hpp"

namespace sluice {

// Move only. One thread at a time.
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor &&other) noexcept : number_(other.release()) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;
  ~FileDescriptor() {
    if (close() != 0) log::debug("base", "a file could not be closed");
  }
  // Negative where there is none.
  [[nodiscard]] int get() const noexcept { return number_; }
  // Gives it to the caller, who closes it.
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }
  // Closes it now, if there is one, for a caller who must know what became of what was written. Returns errno's number
  // of the failure, or 0. There is none left in either case.
  [[nodiscard]] int close() noexcept {
    const int number = release();
    return number >= 0 && ::close(number) != 0 ? errno : 0;
  }

 private:
  int number_ = -1;
};

// A pipe that no other program inherits. Returns false, with errno set and both unchanged, when there is none.
// Any thread.
[[nodiscard]] inline bool open_pipe(FileDescriptor *reading, FileDescriptor *writing) noexcept {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  *reading = FileDescriptor(ends[0]);
  *writing = FileDescriptor(ends[1]);
  return true;
}

}  // namespace sluice
