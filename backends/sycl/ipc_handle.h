// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a handle for other processes: which mechanism leads to the memory, and what that mechanism needs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../outcome.h"

namespace sluice::backends::sycl {

// The number is in the handle; one that a process does not know is a later version's.
enum class Mechanism : uint8_t {
  kExtension = 1,  // the runtime's own handle (extension ipc_memory)
  kLevelZero = 2,  // a level_zero::MemoryName
};

// What a handle says. The runtime's own handle was seen to have 104 bytes on NVIDIA's driver, and 108 and 120 under its
// two adapters for Level Zero.
struct HandleContent {
  static constexpr size_t kMostBytes = 240;

  Mechanism mechanism = Mechanism::kExtension;
  // Of the address that the mechanism's part stands for, from the allocation's first byte: 48 bits.
  uint64_t offset = 0;
  uint64_t least_bytes = 0;  // that the allocation has: its size but for less than 64, or 256 GiB where it has more
  size_t native_bytes = 0;
  std::array<std::byte, kMostBytes> native{};  // the mechanism's part
};

// A handle of this process for the memory that `native` stands for, `offset` bytes behind the first byte of an
// allocation of `size_bytes`. SLUICE_ERROR_UNSUPPORTED when that is too long: a part of more than 104 bytes is written
// without its zeros, of which most have enough.
Outcome write_handle(Mechanism mechanism, const void *native, size_t native_bytes, uint64_t offset, uint64_t size_bytes,
                     sluice_ipc_handle_t *handle);
// SLUICE_SUCCESS when the bytes are a handle of another process that is in itself right; its mechanism may be unknown.
Outcome read_handle(const sluice_ipc_handle_t &handle, HandleContent *content);

}  // namespace sluice::backends::sycl
