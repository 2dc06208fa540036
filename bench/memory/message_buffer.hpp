// SPDX-License-Identifier: BSD-3-Clause
// A message's memory with guard bytes on both sides and in its gaps, and the check of every byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/memory/buffer.hpp"
#include "bench/memory/device_check.hpp"
#include "bench/memory/expectation.hpp"
#include "bench/memory/message_layout.hpp"
#include "bench/memory/pattern.hpp"

namespace sluice::bench {

// The memory that one message is sent from or received into. The message begins a page after the allocation, so it is
// aligned as the allocation is. Contents travel between host and device by the module's plain copy.
// Guards: every byte of the memory that is no more than a page away from one of the message's and is none of them. What
// lies further away is never touched, so that a message may reach over far more memory than the machine has pages for.
class MessageBuffer {
 public:
  static constexpr std::uint64_t kGuardBytes = kPageBytes;

  // As Buffer::program_memory. Contents are undefined until fill() or poison().
  MessageBuffer(DeviceModule *module, sluice_memory_kind_t kind, const MessageLayout &layout);
  MessageBuffer(DeviceModule *module, sluice_memory_kind_t kind, std::uint64_t size_bytes)
      : MessageBuffer(module, kind, contiguous_layout(size_bytes)) {}

  std::byte *data() const { return buffer_.data() + kGuardBytes; }
  // Bytes of the data; of the memory from data() to the end of the last of them.
  std::uint64_t size_bytes() const { return size_bytes_; }
  std::uint64_t extent_bytes() const { return buffer_.size_bytes() - 2 * kGuardBytes; }

  // Writes the message and fresh guards. Blocks until the memory holds them. scratch: reused host memory.
  void fill(const Pattern &pattern, std::vector<std::byte> &scratch);
  // The same, but with every byte of the message different from what `expected` will bring.
  void poison(const Pattern &expected, std::vector<std::byte> &scratch);
  // The same with contents that `writer` puts into host memory of the message's size, without gaps.
  void store(const std::function<void(std::span<std::byte>)> &writer, std::vector<std::byte> &scratch);
  // Shows `reader` the message without gaps and then looks at the guards: what the reader found wrong, or which guard
  // byte is; "". Where data are checked by the device (DeviceModule::check_on_device), a kernel compares message and
  // guards with `expected` first, in place; the reader then says what is wrong only when something is.
  std::string examine(const Expectations &expected,
                      const std::function<std::string(std::span<const std::byte>)> &reader,
                      std::vector<std::byte> &scratch) const;
  // The same by the reader alone, for contents that no expectation describes.
  std::string examine_on_host(const std::function<std::string(std::span<const std::byte>)> &reader,
                              std::vector<std::byte> &scratch) const;
  // The same for one pattern.
  std::string find_error(const Pattern &pattern, std::vector<std::byte> &scratch) const;
  // On the host: compares message and guards with what they should be; the first byte that differs.
  std::optional<Mismatch> verify(const Pattern &pattern, std::vector<std::byte> &scratch) const;

 private:
  // A piece of the message in the buffer.
  struct Place {
    std::uint64_t begin = 0;     // from the buffer's first byte
    std::uint64_t position = 0;  // in the data
    std::uint64_t size_bytes = 0;
    std::uint64_t end() const { return begin + size_bytes; }
  };
  // Guards and pieces without a break between them, moved in one copy.
  struct Stretch {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::vector<Place> places;  // in the order in which they lie
  };

  static std::vector<Stretch> stretches_of(const MessageLayout &layout);
  // The image of a stretch behind the message in scratch.
  std::span<std::byte> image_in(std::vector<std::byte> &scratch, const Stretch &stretch) const;
  void write(std::vector<std::byte> &scratch);
  bool is_checked_by_device() const;
  CheckPlan plan_for(const Expectations &expected) const;
  // Gathers the message at the beginning of scratch; the first guard byte that is wrong.
  std::optional<Mismatch> read(std::vector<std::byte> &scratch) const;

  DeviceModule *module_;
  sluice_memory_kind_t kind_;
  std::uint64_t size_bytes_;
  std::vector<Stretch> stretches_;
  Buffer buffer_;
};

// As describe(mismatch), and where that is when it is outside the message; extent_bytes: of the message's memory.
std::string describe(const Mismatch &mismatch, std::uint64_t extent_bytes);

}  // namespace sluice::bench
