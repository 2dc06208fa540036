// SPDX-License-Identifier: BSD-3-Clause
// Memory that processes share, for words of streams and what they tell of.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace conformance {

// A mapping; data() is null when there is none.
class SharedPage {
 public:
  static constexpr size_t kBytes = 4096;
  // A new page, or several.
  explicit SharedPage(size_t n_pages = 1)
      : size_bytes_(n_pages * kBytes), file_(memfd_create("sluice-words", MFD_CLOEXEC)) {
    if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(size_bytes_)) == 0) map();
  }
  // The first pages of another SharedPage, of this process or another.
  explicit SharedPage(const std::string &path, size_t n_pages = 1)
      : size_bytes_(n_pages * kBytes), file_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (file_ >= 0) map();
  }
  ~SharedPage() {
    if (words_ != nullptr) munmap(words_, size_bytes_);
    if (file_ >= 0) close(file_);
  }
  SharedPage(const SharedPage &) = delete;
  SharedPage &operator=(const SharedPage &) = delete;

  uint64_t *data() const { return words_; }
  size_t size_bytes() const { return size_bytes_; }
  // All pages but the first.
  std::byte *behind() const { return reinterpret_cast<std::byte *>(words_) + kBytes; }
  uint64_t get(size_t index) const { return __atomic_load_n(words_ + index, __ATOMIC_ACQUIRE); }
  void set(size_t index, uint64_t value) const { __atomic_store_n(words_ + index, value, __ATOMIC_RELEASE); }
  // By which any process of this user's opens it.
  std::string path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_); }

 private:
  void map() {
    void *made = mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (made != MAP_FAILED) words_ = static_cast<uint64_t *>(made);
  }

  size_t size_bytes_;
  int file_;
  uint64_t *words_ = nullptr;
};

}  // namespace conformance
