// SPDX-License-Identifier: BSD-3-Clause
#include "wire/shared_segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/log.hpp"

namespace sluice::wire {
namespace {

Status refused(const char *what, int code) {
  return Status::error(ErrorKind::kUnsupported,
                       fmt::format("shared memory: {}: {}; see that /dev/shm is there, has room, and is the same for "
                                   "all processes of a node",
                                   what, std::strerror(code)));
}

// Closed at the end of a scope; a mapping needs its file no more.
class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0 && close(descriptor_) != 0) log::debug("wire", "a file could not be closed");
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  File(File &&) = delete;
  File &operator=(File &&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

SharedSegment::SharedSegment(SharedSegment &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

SharedSegment &SharedSegment::operator=(SharedSegment &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

Status SharedSegment::create(std::size_t size_bytes, SharedSegment *segment, SegmentName *name) {
  std::uint64_t random[2] = {};
  if (getrandom(random, sizeof random, 0) != sizeof random) return refused("random numbers", errno);
  SegmentName made{};
  fmt::format_to_n(made.data(), made.size() - 1, "/sluice-{:016x}{:016x}", random[0], random[1]);
  const File file(shm_open(made.data(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file.get() < 0) return refused("shm_open", errno);
  // Reserved, not only promised: else the first write to a full file system would be a signal.
  const int code = posix_fallocate(file.get(), 0, static_cast<off_t>(size_bytes));
  Status status = code == 0 ? segment->map(file.get(), size_bytes) : refused("posix_fallocate", code);
  if (status.is_ok()) {
    *name = made;
  } else {
    remove_name(made);
  }
  return status;
}

Status SharedSegment::open(const SegmentName &name, std::size_t size_bytes, SharedSegment *segment) {
  if (name.back() != '\0') return refused("a name without an end", EINVAL);
  const File file(shm_open(name.data(), O_RDWR | O_CLOEXEC, 0));
  if (file.get() < 0) return refused("shm_open", errno);
  struct stat about{};
  if (fstat(file.get(), &about) != 0) return refused("fstat", errno);
  if (about.st_uid != geteuid() || static_cast<std::uint64_t>(about.st_size) != size_bytes) {
    return refused("another's segment", EACCES);
  }
  return segment->map(file.get(), size_bytes);
}

void SharedSegment::remove_name(const SegmentName &name) noexcept {
  if (shm_unlink(name.data()) != 0) log::warn_once("shm_unlink", "wire", "a shared segment could not be removed");
}

Status SharedSegment::map(int file, std::size_t size_bytes) {
  void *data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED)
    return refused("mmap", errno);  // NOLINT(performance-no-int-to-ptr): the system's own constant
  release();
  data_ = data;
  size_bytes_ = size_bytes;
  return {};
}

void SharedSegment::release() noexcept {
  if (data_ != nullptr && munmap(data_, size_bytes_) != 0)
    log::warn_once("munmap", "wire", "a shared segment stays mapped");
  data_ = nullptr;
  size_bytes_ = 0;
}

}  // namespace sluice::wire
