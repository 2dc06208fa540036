// SPDX-License-Identifier: BSD-3-Clause
#include "device/untouched_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <bit>
#include <mutex>
#include <utility>
#include <vector>

#include "base/short_mutex.hpp"

namespace sluice::device {
namespace {

// A first page that was written stays where it is: that much a range that is kept may hold.
constexpr std::size_t kPageBytes = 4096;
// What the system may make of one piece when its first byte is written.
constexpr std::size_t kLargePageBytes = std::size_t{2} << 20;
// Ranges have sizes of 64 KiB · 2^class.
constexpr unsigned kSmallestShift = 16;
constexpr unsigned kClasses = 32;
constexpr std::size_t kMostIdle = 128;  // of each class

struct Idle {
  ShortMutex mutex;
  std::array<std::vector<std::byte *>, kClasses> ranges;
};

Idle &idle() {
  static auto *const all = new Idle();  // never destroyed: what holds a range may outlive it
  return *all;
}

std::size_t class_bytes(unsigned size_class) noexcept {
  return std::size_t{1} << (size_class + kSmallestShift);
}

Status map(std::size_t size_bytes, std::byte **range) {
  void *const memory =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Status::error(ErrorKind::kOutOfMemory,
                         fmt::format("the system has no {} bytes of address space; raise the limit that `ulimit -v` "
                                     "shows",
                                     size_bytes));
  }
  *range = static_cast<std::byte *>(memory);
  // A few bytes at the beginning are not to take a large page. Where that cannot be said they do.
  const std::size_t head_bytes = std::min(kLargePageBytes, size_bytes);
  [[maybe_unused]] int result = madvise(memory, head_bytes, MADV_NOHUGEPAGE);
  if (size_bytes > head_bytes) result = madvise(*range + head_bytes, size_bytes - head_bytes, MADV_HUGEPAGE);
  return {};
}

}  // namespace

Status UntouchedMemory::acquire(std::size_t size_bytes, UntouchedMemory *memory) {
  *memory = UntouchedMemory();  // gives back what it held
  const std::size_t units = (size_bytes + class_bytes(0) - 1) >> kSmallestShift;
  const auto size_class = units <= 1 ? 0U : static_cast<unsigned>(std::bit_width(units - 1));
  if (size_class >= kClasses) {
    return Status::error(ErrorKind::kOutOfMemory,
                         fmt::format("a message of {} bytes is too large; send it in parts", size_bytes));
  }
  memory->size_class_ = size_class;
  {
    const std::scoped_lock lock(idle().mutex);
    std::vector<std::byte *> &ranges = idle().ranges.at(size_class);
    if (!ranges.empty()) {
      memory->data_ = ranges.back();
      ranges.pop_back();
      return {};
    }
  }
  return map(class_bytes(size_class), &memory->data_);
}

UntouchedMemory::~UntouchedMemory() {
  if (data_ == nullptr) return;
  const std::size_t size_bytes = class_bytes(size_class_);
  const bool is_clean = (is_noted_ && written_bytes_ <= kPageBytes) || madvise(data_, size_bytes, MADV_DONTNEED) == 0;
  if (is_clean) {
    const std::scoped_lock lock(idle().mutex);
    std::vector<std::byte *> &ranges = idle().ranges.at(size_class_);
    try {
      if (ranges.size() < kMostIdle) {
        ranges.push_back(data_);
        return;
      }
    } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for the list: the range goes
    }
  }
  [[maybe_unused]] const int result = munmap(data_, size_bytes);
}

void UntouchedMemory::swap(UntouchedMemory *other) noexcept {
  std::swap(data_, other->data_);
  std::swap(size_class_, other->size_class_);
  std::swap(is_noted_, other->is_noted_);
  std::swap(written_bytes_, other->written_bytes_);
}

}  // namespace sluice::device
