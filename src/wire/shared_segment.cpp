// SPDX-License-Identifier: BSD-3-Clause
#include "wire/shared_segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/log.hpp"
#include "base/system_reason.hpp"

namespace sluice::wire {
namespace {

// Its length stays as it is.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status refused(const char *what, int code) {
  return Status::error(
      ErrorKind::kUnsupported,
      fmt::format("shared memory: {}: {}", what, system_reason(code, "see that the node has memory for it")));
}

}  // namespace

SharedSegment::SharedSegment(SharedSegment &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

SharedSegment &SharedSegment::operator=(SharedSegment &&other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

Status SharedSegment::create(std::size_t size_bytes, SharedSegment *segment, SegmentName *name) {
  FileDescriptor file(memfd_create("sluice", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) return refused("memfd_create", errno);
  // Reserved, not only promised: else the first write where there is no memory would be a signal.
  const int code = posix_fallocate(file.get(), 0, static_cast<off_t>(size_bytes));
  if (code != 0) return refused("posix_fallocate", code);
  if (fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return refused("seals", errno);
  SharedSegment made;
  Status status = made.map(file.get(), size_bytes);
  if (status.is_ok()) status = SegmentOffers::process().add(std::move(file), name);
  if (status.is_ok()) *segment = std::move(made);
  return status;
}

Status SharedSegment::open(const SegmentName &name, std::size_t size_bytes, SharedSegment *segment) {
  FileDescriptor file;
  if (Status status = ask_for_segment(name, &file); !status.is_ok()) return status;
  struct stat about{};
  if (fstat(file.get(), &about) != 0) return refused("fstat", errno);
  // Whoever made it cannot take the memory away while it is mapped.
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (static_cast<std::uint64_t>(about.st_size) != size_bytes || seals < 0 || (seals & kSeals) != kSeals) {
    return refused("another segment", EINVAL);
  }
  return segment->map(file.get(), size_bytes);
}

void SharedSegment::remove_name(const SegmentName &name) noexcept {
  SegmentOffers::process().remove(name);
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
