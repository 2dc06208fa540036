// SPDX-License-Identifier: BSD-3-Clause
// NamedStreams: the streams that the program has made known to MPI by MPIX_Stream_create, by their numbers. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "base/status.hpp"
#include "device/backend.hpp"

namespace sluice::ops::stream {

// A stream of a device's, or the order of a thread.
struct NamedStream {
  const device::Backend *owner = nullptr;  // null: the order of a thread
  void *native = nullptr;                  // the runtime's own handle
};
using NamedStreamPtr = std::shared_ptr<const NamedStream>;

class NamedStreams {
 public:
  // The process's. Never destroyed.
  static NamedStreams &process();

  // No stream, as MPICH's mpi.h has it.
  static constexpr int kNull = 0x3c000000;

  // A number that is given out once, and that no host MPI gives to a stream of its own. May throw std::bad_alloc.
  [[nodiscard]] int add(const NamedStream &named);
  // Null for a number of the host MPI's, one that was freed, and kNull.
  [[nodiscard]] NamedStreamPtr find(int number) const;
  // Whether there was one. Whoever has it keeps it.
  [[nodiscard]] bool remove(int number);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<int, NamedStreamPtr> streams_;
  int last_ = kNull;
};

// The bytes that `text`, the value of an info key, stands for: two hexadecimal digits a byte, and "[n]" for n bytes of
// zeros, as MPIX_Info_set_hex of MPICH writes them. Errors: anything else, or other than `bytes.size()` bytes. Pure.
[[nodiscard]] Status decode_hex(const std::string &text, std::span<std::byte> bytes);
// The same the other way, without "[n]". Pure.
[[nodiscard]] std::string encode_hex(std::span<const std::byte> bytes);

}  // namespace sluice::ops::stream
