// SPDX-License-Identifier: BSD-3-Clause
#include "wire/shared_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/log.hpp"
#include "base/system_reason.hpp"

namespace sluice::wire {
namespace {

Status no_lock(const char *what, int code) {
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("a lock between processes: {}: {}", what,
                                   system_reason(code, "see that this node gives memfd_create, /proc and file locks")));
}

// Of the whole file, by this opening of it: the processes have opened it each for itself.
int set_lock(int file, short type) noexcept {
  struct flock whole{};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return fcntl(file, F_OFD_SETLK, &whole);
}

}  // namespace

Status SharedLock::create(SegmentName *name) {
  FileDescriptor made(memfd_create("sluice-lock", MFD_CLOEXEC));
  if (made.get() < 0) return no_lock("memfd_create", errno);
  FileDescriptor offered(fcntl(made.get(), F_DUPFD_CLOEXEC, 0));
  if (offered.get() < 0) return no_lock("F_DUPFD_CLOEXEC", errno);
  Status status = SegmentOffers::process().add(std::move(offered), name);
  if (status.is_ok()) file_ = std::move(made);
  return status;
}

Status SharedLock::open(const SegmentName &name) {
  FileDescriptor given;
  if (Status status = ask_for_segment(name, &given); !status.is_ok()) return status;
  struct stat about{};
  if (fstat(given.get(), &about) != 0) return no_lock("fstat", errno);
  if (!S_ISREG(about.st_mode)) return no_lock("no file of that name", EINVAL);
  // What was given is the maker's own opening, and so would be its locks.
  FileDescriptor own(::open(fmt::format("/proc/self/fd/{}", given.get()).c_str(), O_RDWR | O_CLOEXEC));
  if (own.get() < 0) return no_lock("open", errno);
  file_ = std::move(own);
  return {};
}

Status SharedLock::try_take(bool *is_taken) const {
  *is_taken = set_lock(file_.get(), F_WRLCK) == 0;
  if (*is_taken || errno == EAGAIN || errno == EACCES || errno == EINTR) return {};
  return no_lock("F_OFD_SETLK", errno);
}

void SharedLock::release() const noexcept {
  if (set_lock(file_.get(), F_UNLCK) != 0) {
    log::warn_once("shared_lock", "wire", "a lock between processes could not be given back; other ranks may wait");
  }
}

}  // namespace sluice::wire
