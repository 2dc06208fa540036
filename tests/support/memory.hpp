// SPDX-License-Identifier: BSD-3-Clause
// The one buffer of the tests: memory of any kind, a pattern in it, poison around it, read back whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/backend_module.hpp"

namespace sluice::tests {

enum class Kind : std::uint8_t { host, pinned, device, shared };

const char *kind_name(Kind kind);

using Bytes = std::vector<unsigned char>;

// The byte that the given rank sends at `position` of its message in the given iteration. Never kPoison.
unsigned char pattern_byte(int rank, std::size_t position, int iteration);

// What a buffer holds before anything was received, and its guards for ever.
inline constexpr unsigned char kPoison = 0xA5;
inline constexpr std::size_t kGuardBytes = 64;

// `size_bytes` of memory with guards behind it and, when `has_front_guard`, before it (the pointer is then interior to
// the allocation). The content starts as poison. Freed on destruction. Move only. Throws std::runtime_error.
class Memory {
 public:
  Memory(const BackendModule *module, Kind kind, std::size_t size_bytes, bool has_front_guard = false);
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  Memory(Memory &&other) noexcept;
  Memory &operator=(Memory &&other) noexcept;
  ~Memory();

  void *data() const { return base_ + front_bytes_; }
  void *at(std::size_t offset_bytes) const { return base_ + front_bytes_ + offset_bytes; }
  std::size_t size_bytes() const { return size_bytes_; }
  Kind kind() const { return kind_; }

  // Fills the memory with the pattern; position 0 is its first byte.
  void fill_pattern(int rank, int iteration) const;
  void fill(unsigned char value) const;
  void write(std::size_t offset_bytes, const void *src, std::size_t size_bytes) const;
  Bytes read() const;
  Bytes read(std::size_t offset_bytes, std::size_t size_bytes) const;
  // The memory with its guards, for comparisons that must notice a write beside the buffer.
  Bytes read_with_guards() const;

 private:
  void copy(void *dst, const void *src, std::size_t size_bytes) const;
  void release() noexcept;

  const BackendModule *module_;
  Kind kind_;
  std::size_t size_bytes_;
  std::size_t front_bytes_;
  unsigned char *base_;
};

// "" when `actual` holds the pattern from its first byte on; else where and how it first differs.
std::string find_pattern_error(const Bytes &actual, int rank, int iteration, std::size_t first_position = 0);

// "" when equal; else where and how the two first differ, and in how many bytes.
std::string find_difference(const Bytes &expected, const Bytes &actual);

}  // namespace sluice::tests
