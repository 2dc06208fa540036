// SPDX-License-Identifier: BSD-3-Clause
// mmap, memfd and what undoes them.
#include "runtime/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/error.h"

namespace emurt {
namespace {

emu_result_t out_of_memory(const char *call, size_t size_bytes) {
  return fail(EMU_ERROR_OUT_OF_MEMORY, "{} of {} bytes refused{}; free memory or ask for less", call, size_bytes,
              system_error_words(errno));
}

// Device memory is not inherited by a fork. A kernel that refuses the advice leaves a child with views of memory that
// the runtime will not let it use, which does no harm.
void keep_from_children(void *memory, size_t size_bytes) {
  if (madvise(memory, size_bytes, MADV_DONTFORK) != 0) errno = 0;
}

}  // namespace

size_t page_bytes() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

size_t whole_pages(size_t size_bytes) {
  const size_t mask = page_bytes() - 1;
  return size_bytes > SIZE_MAX - mask ? 0 : (size_bytes + mask) & ~mask;
}

DeviceMemoryFile::~DeviceMemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

emu_result_t DeviceMemoryFile::take(size_t size_bytes, uint64_t *offset) {
  if (descriptor_ < 0) {
    descriptor_ = memfd_create("emu-device-memory", MFD_CLOEXEC);
    if (descriptor_ < 0) {
      return fail(EMU_ERROR_SYSTEM, "memfd_create refused{}; raise the limit of open files", system_error_words(errno));
    }
  }
  if (ftruncate(descriptor_, static_cast<off_t>(end_ + size_bytes)) != 0) return out_of_memory("ftruncate", size_bytes);
  *offset = end_;
  end_ += size_bytes;
  return EMU_SUCCESS;
}

void DeviceMemoryFile::punch(uint64_t offset, size_t size_bytes) const {
  // Refused only on descriptors that are no memory files; the stretch is never used again in either case.
  while (fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                   static_cast<off_t>(size_bytes)) != 0 &&
         errno == EINTR) {
  }
}

AddressRange::AddressRange(AddressRange &&other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}

AddressRange &AddressRange::operator=(AddressRange &&other) noexcept {
  if (this != &other) {
    release();
    memory_ = std::exchange(other.memory_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

void AddressRange::release() {
  if (memory_ != nullptr) munmap(memory_, size_bytes_);
  memory_ = nullptr;
  size_bytes_ = 0;
}

emu_result_t AddressRange::reserve(size_t size_bytes, size_t alignment, AddressRange *range) {
  const size_t slack = alignment > page_bytes() ? alignment - page_bytes() : 0;
  const size_t whole = size_bytes + slack;
  if (size_bytes == 0 || whole < size_bytes) {
    return fail(EMU_ERROR_OUT_OF_MEMORY, "{} bytes aligned to {} are more than the address space", size_bytes,
                alignment);
  }
  void *memory = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return out_of_memory("mmap", size_bytes);
  auto *first = static_cast<std::byte *>(memory);
  const size_t past = reinterpret_cast<uintptr_t>(first) & (alignment - 1);
  const size_t before = slack == 0 || past == 0 ? 0 : alignment - past;
  if (before > 0) munmap(first, before);
  if (slack > before) munmap(first + before + size_bytes, slack - before);
  *range = AddressRange(first + before, size_bytes);
  return EMU_SUCCESS;
}

emu_result_t AddressRange::map_alias(int descriptor, uint64_t offset, size_t size_bytes, AddressRange *range) {
  void *memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor,
                      static_cast<off_t>(offset));
  if (memory == MAP_FAILED) return out_of_memory("mmap", size_bytes);
  keep_from_children(memory, size_bytes);
  *range = AddressRange(memory, size_bytes);
  return EMU_SUCCESS;
}

emu_result_t AddressRange::map_host_memory() {
  if (mmap(memory_, size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
      MAP_FAILED) {
    return out_of_memory("mmap", size_bytes_);
  }
  return EMU_SUCCESS;
}

emu_result_t AddressRange::map_inaccessible_file(int descriptor, uint64_t offset) {
  if (mmap(memory_, size_bytes_, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, descriptor,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    return out_of_memory("mmap", size_bytes_);
  }
  keep_from_children(memory_, size_bytes_);
  return EMU_SUCCESS;
}

bool AddressRange::set_cpu_access(bool is_open) const {
  return mprotect(memory_, size_bytes_, is_open ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

void AddressRange::make_inaccessible() {
  if (mmap(memory_, size_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) !=
      MAP_FAILED) {
    return;
  }
  const bool is_dropped = madvise(memory_, size_bytes_, MADV_DONTNEED) == 0;
  const bool is_closed = mprotect(memory_, size_bytes_, PROT_NONE) == 0;
  static_cast<void>(is_dropped && is_closed);  // out of mappings altogether: the range stays out of use anyway
}

}  // namespace emurt
