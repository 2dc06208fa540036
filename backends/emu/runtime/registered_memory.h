// SPDX-License-Identifier: BSD-3-Clause
// Host memory that is not the runtime's own, and in which queues may have words all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

namespace emurt {

// Any thread.
class RegisteredMemory {
 public:
  // False when it overlaps what is there; size_bytes at least 1.
  bool add(const void *memory, size_t size_bytes) {
    const auto begin = reinterpret_cast<uintptr_t>(memory);
    const std::scoped_lock lock(mutex_);
    const auto after = ranges_.upper_bound(begin);
    if (after != ranges_.end() && after->first - begin < size_bytes) return false;
    if (after != ranges_.begin() && begin - std::prev(after)->first < std::prev(after)->second) return false;
    return ranges_.emplace_hint(after, begin, size_bytes)->second == size_bytes;
  }
  // False when nothing begins there.
  bool remove(const void *memory) {
    const std::scoped_lock lock(mutex_);
    return ranges_.erase(reinterpret_cast<uintptr_t>(memory)) != 0;
  }
  bool has(uintptr_t address, size_t size_bytes) {
    const std::scoped_lock lock(mutex_);
    const auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return false;
    const auto &[begin, length] = *std::prev(after);
    return size_bytes <= length && address - begin <= length - size_bytes;
  }

 private:
  std::mutex mutex_;
  std::map<uintptr_t, size_t> ranges_;  // their lengths in bytes, by first address
};

}  // namespace emurt
