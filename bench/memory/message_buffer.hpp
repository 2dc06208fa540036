// SPDX-License-Identifier: BSD-3-Clause
// A message's memory with guard bytes on both sides, and the check of every byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/memory/buffer.hpp"
#include "bench/memory/pattern.hpp"

namespace sluice::bench {

// The memory that one message is sent from or received into. The message begins a page after the allocation, so it is
// aligned as the allocation is. Contents travel between host and device by the module's plain copy.
class MessageBuffer {
 public:
  static constexpr std::uint64_t kGuardBytes = kPageBytes;

  // As Buffer::program_memory. Contents are undefined until fill() or poison().
  MessageBuffer(DeviceModule *module, sluice_memory_kind_t kind, std::uint64_t size_bytes);

  std::byte *data() const { return buffer_.data() + kGuardBytes; }
  std::uint64_t size_bytes() const { return size_bytes_; }

  // Writes the message and fresh guards. Blocks until the memory holds them. scratch: reused host memory.
  void fill(const Pattern &pattern, std::vector<std::byte> &scratch);
  // The same, but with every byte of the message different from what `expected` will bring.
  void poison(const Pattern &expected, std::vector<std::byte> &scratch);
  // The same with contents that `writer` puts into host memory of the message's size.
  void store(const std::function<void(std::span<std::byte>)> &writer, std::vector<std::byte> &scratch);
  // Shows `reader` the message and then looks at the guards: what the reader found wrong, or which guard byte is; "".
  std::string examine(const std::function<std::string(std::span<const std::byte>)> &reader,
                      std::vector<std::byte> &scratch) const;
  // Compares message and guards with what they should be; the first byte that differs.
  std::optional<Mismatch> verify(const Pattern &pattern, std::vector<std::byte> &scratch) const;

 private:
  void write(std::vector<std::byte> &scratch);
  void read(std::vector<std::byte> &scratch) const;
  std::optional<Mismatch> find_bad_guard(std::span<const std::byte> all) const;

  DeviceModule *module_;
  bool is_host_;
  std::uint64_t size_bytes_;
  Buffer buffer_;
};

// As describe(mismatch), and where that is when it is outside the message.
std::string describe(const Mismatch &mismatch, std::uint64_t message_bytes);

}  // namespace sluice::bench
